// R, its second half: a fused region is there to be faster than its nodes one by one.
#include "conformance/families/stopwatch.h"
#include "conformance/raw/check.h"
#include "core/base/text.h"
#include "core/driver/team.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;

constexpr double kMargin = 1.2;

struct Row {
  const char* name;
  const char* text;
};
constexpr Row kRows[] = {
    {"pointwise", R"(graph "g"
  %x = input f32[4096,64] "x"
  %b = input f32[4096,64] "b"
  %y = pointwise %x, %b
  body
    %p = input f32[4096,64] "p"
    %q = input f32[4096,64] "q"
    %1 = add %p, %q
    %2 = relu %1
    %3 = mul %2, %q
    %4 = add %3, %p
    return %4 "s"
  return %y "y"
)"},
    {"matmul_bias_act", R"(graph "g"
  %x = input f32[256,256] "x"
  %w = input f32[256,256] "w"
  %b = input f32[256] "b"
  %y = matmul_bias_act %x, %w, %b {activation=30}
  return %y "y"
)"},
    {"conv_bias_act", R"(graph "g"
  %x = input f32[1,16,48,48] "x"
  %w = input f32[32,16,3,3] "w"
  %b = input f32[32] "b"
  %y = conv_bias_act %x, %w, %b {activation=30}
  return %y "y"
)"},
    {"layer_norm", R"(graph "g"
  %x = input f32[512,256] "x"
  %s = input f32[256] "s"
  %t = input f32[256] "t"
  %y = layer_norm %x, %s, %t
  return %y "y"
)"},
    {"rms_norm", R"(graph "g"
  %x = input f32[512,256] "x"
  %s = input f32[256] "s"
  %y = rms_norm %x, %s
  return %y "y"
)"},
    {"attention", R"(graph "g"
  %q = input f32[4,128,64] "q"
  %k = input f32[4,128,64] "k"
  %v = input f32[4,128,64] "v"
  %y = attention %q, %k, %v
  return %y "y"
)"},
};

// A lone pointwise node as the open kind, which is how it is asked for where its op has no row.
Result<std::vector<ValueId>> emit_wrapped(Graph& out, const Graph& from, const Node& node,
                                          std::vector<ValueId> operands) {
  Graph body("body");
  std::vector<ValueId> inner;
  std::vector<ValueId> outer;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const Tensor* literal = out.literal(operands[i])) {
      inner.push_back(body.add_literal(*literal));
      continue;
    }
    inner.push_back(body.add_input(out.type(operands[i]), cat("p", i)));
    outer.push_back(operands[i]);
  }
  FRL_LET(const ValueId result, body.emit(node.op, node.attributes, inner));
  body.add_output(result, "r");
  static_cast<void>(from);
  FRL_LET(const NodeId made, out.emit_node(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), outer,
                                           {std::make_shared<const Graph>(std::move(body))}));
  return out.node(made).results;
}

// The body as a graph whose every node the device takes.
Result<Graph> one_by_one(Session& session, const Graph& body) {
  Graph out("unfused");
  std::map<ValueId, ValueId> at;
  for (size_t v = 0; v < body.n_values(); ++v) {
    const Value& value = body.value(ValueId(v));
    if (value.role == Role::literal) at[ValueId(v)] = out.add_literal(value.known);
  }
  for (ValueId id : body.inputs()) at[id] = out.add_input(body.type(id), body.value(id).name);
  for (size_t n = 0; n < body.n_nodes(); ++n) {
    const Node& node = body.node(NodeId(n));
    std::vector<ValueId> operands, results;
    for (ValueId id : node.operands) operands.push_back(id == kNoValue ? kNoValue : at[id]);
    if (raw::admits(session, body, NodeId(n))) {
      FRL_LET(const NodeId made, out.emit_node(node.op, node.attributes, operands, node.bodies));
      results = out.node(made).results;
    } else {
      if (op_row(node.op).form != Form::pointwise)
        return Status(Code::not_claimed, cat(op_row(node.op).name, " is not claimed on its own"));
      FRL_LET(results, emit_wrapped(out, body, node, operands));
    }
    for (size_t r = 0; r < results.size(); ++r) at[node.results[r]] = results[r];
  }
  for (const Output& output : body.outputs()) out.add_output(at[output.value], output.name);
  for (size_t n = 0; n < out.n_nodes(); ++n)
    if (!raw::admits(session, out, NodeId(n)))
      return Status(Code::not_claimed, cat(op_row(out.node(NodeId(n)).op).name,
                                           " of the body is not claimed on its own"));
  return out;
}

Outcome fused(Session& session, const Row& row) {
  FRL_HAVE(const Graph graph, parse_graph(row.text));
  if (!raw::admits(session, graph, NodeId(0)))
    return {Verdict::not_claimed, cat(row.name, " is not claimed")};
  FRL_HAVE(const Body body, region_body(graph, graph.node(NodeId(0))));
  FRL_HAVE(const Graph apart, one_by_one(session, *body));
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(auto one, Job::make(session, *queue, graph));
  FRL_HAVE(auto many, Job::make(session, *queue, apart));
  FRL_CHECK(upload_ramps(*one, graph));
  FRL_CHECK(upload_ramps(*many, graph));
  const auto ratio_of = [](const std::vector<Measured>& best) {
    double ratio = best[0].wall_ps / std::max(1.0, best[1].wall_ps);
    if (best[0].own_ps > 0 && best[1].own_ps > 0)
      ratio = std::min(ratio, best[0].own_ps / best[1].own_ps);
    return ratio;
  };
  FRL_HAVE(const Fastest found,
           fastest({time_job(*queue, *one, 1), time_job(*queue, *many, 1)},
                   [&](const std::vector<Measured>& best) { return ratio_of(best) <= kMargin; }));
  const double ratio = ratio_of(found.best);
  const std::string text = cat(row.name, ": fused takes ", std::round(ratio * 100) / 100,
                               " of the time of its ", apart.n_nodes(), " nodes one by one");
  if (ratio > kMargin && found.is_busy())
    return {Verdict::resource_error, cat(text, "; the machine is busy"), 1, 0};
  if (ratio <= kMargin) return {Verdict::pass, text, uint64_t(found.trials), 0};
  return {Verdict::quality_warning, cat(text, "; want at most 1.2"), uint64_t(found.trials), 0};
}

}  // namespace

void list_fused(std::vector<Case>& cases) {
  for (const Row& row : kRows)
    cases.push_back({cat("R/fused/", row.name), [&row](const Target& t) {
                       raw::SessionOptions options;
                       options.services.team = std::make_shared<Team>(available_processors());
                       options.services.workers = options.services.team->n_workers();
                       return raw::with_session(
                           t, [&row](Session& session) { return fused(session, row); }, options);
                     }});
}

}  // namespace ferrule::conformance
