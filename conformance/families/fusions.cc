// G: every region kind that is claimed: against the reference, and against its own body run node by
// node on the same device.
#include <algorithm>

#include "conformance/cases/bodies.h"
#include "conformance/cases/check.h"
#include "conformance/families/written.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// What the body of node 0 is given: weights that the graph holds, inputs for the rest.
std::vector<Tensor> body_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  for (ValueId id : graph.node(NodeId(0)).operands) {
    if (id == kNoValue) continue;
    const auto at = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    out.push_back(graph.known(id) ? *graph.known(id) : inputs[size_t(at - graph.inputs().begin())]);
  }
  return out;
}

// The region on `inputs`, then its body's nodes alone; both judged, then one against the other.
Outcome check_fused(const Target& target, const Graph& graph, std::span<const Tensor> inputs) {
  RunResult fused;
  std::vector<Expected> want;
  Outcome out = check_run(target, graph, inputs, {}, &fused, &want);
  if (out.verdict != Verdict::pass) return out;
  const auto body = region_body(graph, graph.node(NodeId(0)));
  if (!body.ok()) return {Verdict::internal_error, body.status().message(), 0, 0};
  auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  const std::vector<Tensor> given = body_inputs(graph, inputs);
  const auto unfused = (*rig)->run_unfused(**body, given);
  // A device need not run the members alone.
  if (!unfused.ok())
    return unfused.status().code() == Code::not_claimed ? out
                                                        : outcome_of(unfused.status(), "unfused");
  const auto alone = expect(**body, given, target.row());
  if (!alone.ok()) return {Verdict::internal_error, "reference: " + alone.status().message(), 0, 0};
  for (size_t r = 0; r < want.size(); ++r) {
    merge(out, judge((*unfused)[r], (*alone)[r], ~uint32_t{0} & FRL_FP_LOSES_ZERO_SIGN),
          cat("unfused result ", r));
    merge(out, judge_pair(fused.results[r], (*unfused)[r], want[r], (*alone)[r]),
          cat("result ", r));
  }
  return out;
}

void list_closed(const Target& target, std::vector<Case>& cases) {
  for (const OpRow& row : op_rows()) {
    if (row.form != Form::closed) continue;
    for (Type type : {Type::f32, Type::f64, Type::f16, Type::bf16})
      for (const Subject& subject : subjects_of(row.id, type)) {
        if (target.depth == Depth::smoke && !subject.is_smoke(type)) continue;
        for (Style style : {Style::data, Style::ramp, Style::alternating, Style::one_hot}) {
          if (target.depth == Depth::smoke && style != Style::ramp) continue;
          add_case(
              target, cases,
              cat("G/", row.name, "/", type_name(type), "/", subject.label, "/", style_name(style)),
              graph_of(subject, 1),
              [subject, style](const Target& t, const Graph& graph, uint64_t seed) {
                return check_fused(t, graph, inputs_of(subject, graph, style, seed));
              });
        }
      }
  }
}

// Every activation that an act kind claims, on the same product.
struct Activated {
  OpId op;
  uint32_t slot;
  const char* operands;
};
constexpr Activated kActivated[] = {
    {FRL_OP_matmul_bias_act, FRL_AT_matmul_bias_act_activation, "T[5,9] T[9,7] T[7]"},
    {FRL_OP_conv_bias_act, FRL_AT_conv_bias_act_activation, "T[1,3,4,5] T[4,3,3,3] T[4]"},
};

void list_activations(const Target& target, std::vector<Case>& cases) {
  if (target.depth == Depth::smoke) return;
  for (const Activated& row : kActivated)
    for (const OpRow& activation : op_rows()) {
      if (activation.form != Form::pointwise || activation.max_operands != 1 ||
          activation.id == FRL_OP_cast)
        continue;
      for (Type type : {Type::f32, Type::f64, Type::f16, Type::bf16}) {
        Subject subject;
        subject.op = row.op, subject.attributes = Attributes(row.op).set_i(row.slot, activation.id);
        for (const std::string& text : split(row.operands, ' '))
          subject.operands.push_back(*parse_operand(text, type));
        if (!graph_of(subject, 1).ok()) continue;
        add_case(
            target, cases,
            cat("G/", op_row(row.op).name, "/", type_name(type), "/activation_", activation.name),
            graph_of(subject, 1), [subject](const Target& t, const Graph& graph, uint64_t seed) {
              std::vector<Tensor> inputs = inputs_of(subject, graph, Style::data, seed);
              return check_fused(t, graph, inputs);
            });
      }
    }
}

// What a case does whose inputs are all filled in one style.
CaseBody check_filled(Style style) {
  return [style](const Target& t, const Graph& graph, uint64_t seed) {
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs())
      inputs.push_back(fill(graph.type(id), style, seed + inputs.size() * 977));
    return check_fused(t, graph, inputs);
  };
}

void add_region(const Target& target, std::vector<Case>& cases, std::string name, OpId kind,
                Result<Graph> body, Style style) {
  if (!body.ok()) return;
  auto shared = std::make_shared<const Graph>(std::move(*body));
  add_case(target, cases, std::move(name), one_region(kind, Attributes(kind), shared),
           check_filled(style));
}

// How many of something to try: few, and as many as the claim allows, where that is no more than is
// sensible.
std::vector<size_t> counts_to(uint32_t most) {
  std::vector<size_t> out;
  for (size_t n : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{8}, size_t{17}})
    if (n < most) out.push_back(n);
  if (most <= 4096) out.push_back(most);
  return out;
}

void list_pointwise(const Target& target, std::vector<Case>& cases, const Claim& claim,
                    size_t row_number) {
  const std::string at = row_number ? cat("pointwise_", row_number) : "pointwise";
  for (Type type : member_types(claim)) {
    const std::string prefix = cat("G/", at, "/", type_name(type), "/");
    const BodyMaker make(claim, type);
    const bool smoke = target.depth == Depth::smoke;
    const Shape shape{5, 33};
    for (size_t n : counts_to(claim.max_nodes)) {
      if (smoke && n > 3) continue;
      add_region(target, cases, cat(prefix, "chain_", n), FRL_OP_pointwise, make.chain(n, shape),
                 Style::data);
    }
    for (size_t n : counts_to(claim.max_inputs)) {
      if (smoke && n > 3) continue;
      for (Spread form : {Spread::same, Spread::row, Spread::column, Spread::scalar, Spread::mixed})
        add_region(target, cases, cat(prefix, "inputs_", n, "_", form_name(form)), FRL_OP_pointwise,
                   make.inputs(n, form, shape), Style::ramp);
    }
    for (size_t n : counts_to(claim.max_outputs)) {
      if (smoke && n > 2) continue;
      add_region(target, cases, cat(prefix, "results_", n), FRL_OP_pointwise,
                 make.results(n, shape), Style::data);
    }
    add_region(target, cases, prefix + "many_users", FRL_OP_pointwise, make.many_users(shape),
               Style::data);
    add_region(target, cases, prefix + "result_used_inside", FRL_OP_pointwise,
               make.result_used_inside(shape), Style::data);
    add_region(target, cases, prefix + "literal", FRL_OP_pointwise, make.literal(shape),
               Style::data);
    add_region(target, cases, prefix + "zero_size", FRL_OP_pointwise, make.chain(2, Shape{3, 0, 2}),
               Style::data);
    add_region(target, cases, prefix + "rank_0", FRL_OP_pointwise, make.chain(3, Shape{}),
               Style::data);
    add_region(target, cases, prefix + "types", FRL_OP_pointwise, make.types(shape), Style::data);
    const size_t random = smoke ? 2 : target.depth == Depth::deep ? 200 : 20;
    for (size_t i = 0; i < random; ++i)
      add_region(target, cases, cat(prefix, "random_", i), FRL_OP_pointwise,
                 make.random(i, i % 2 ? Shape{3, 5, 7} : shape), i % 3 ? Style::data : Style::ramp);
  }
}

// (a + b) - a: nothing of b is left if a + b is rounded to the type, most of it if it is kept wide.
Outcome check_rounding(const Target& target, const Graph& graph, uint64_t) {
  const Type type = graph.type(graph.inputs()[0]).type;
  const double large = type == Type::f16    ? 2048
                       : type == Type::bf16 ? 256
                       : type == Type::f32  ? 0x1p24
                                            : 0x1p53;
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) inputs.emplace_back(graph.type(id));
  for (int64_t i = 0; i < inputs[0].n_elements(); ++i) {
    inputs[0].set_f64(i, (i % 2 ? -1 : 1) * large * (i % 5 + 1) / 4);
    inputs[1].set_f64(i, 0.25 + double(i % 7) / 8);
  }
  return check_fused(target, graph, inputs);
}

void list_rounding(const Target& target, std::vector<Case>& cases) {
  for (Type type : {Type::f64, Type::f32, Type::f16, Type::bf16}) {
    auto body = std::make_shared<Graph>("body");
    const TensorType t{type, Shape{70}};
    const ValueId a = body->add_input(t, "a"), b = body->add_input(t, "b");
    auto sum = body->emit(FRL_OP_add, {a, b});
    if (!sum.ok()) continue;
    auto rest = body->emit(FRL_OP_sub, {*sum, a});
    if (!rest.ok()) continue;
    body->add_output(*rest, "y");
    add_case(target, cases, cat("G/pointwise/", type_name(type), "/rounding"),
             one_region(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), body), check_rounding);
  }
}

// One main op with what the claim allows before or behind it; a subgraph with both.
void list_main(const Target& target, std::vector<Case>& cases, const Claim& claim) {
  for (Type type : {Type::f32, Type::f64, Type::f16, Type::bf16}) {
    for (OpId main : {OpId(FRL_OP_matmul), OpId(FRL_OP_reduce), OpId(FRL_OP_softmax),
                      OpId(FRL_OP_conv), OpId(FRL_OP_transpose)})
      for (size_t n : {size_t{1}, size_t{2}, size_t{4}}) {
        const BodyMaker make(claim, type);
        const std::string name =
            cat("G/", op_row(claim.op).name, "/", type_name(type), "/", op_row(main).name, "_", n);
        add_region(target, cases, name, claim.op,
                   make.around(main, claim.op != FRL_OP_epilogue ? n : 0,
                               claim.op != FRL_OP_prologue ? n : 0),
                   Style::data);
      }
  }
}

}  // namespace

void list_fusions(const Target& target, std::vector<Case>& cases) {
  list_closed(target, cases);
  list_activations(target, cases);
  list_rounding(target, cases);
  list_written(target, cases, check_filled(Style::ramp));
  size_t number = 0;
  for (const Claim& claim : target.row().claims) {
    if (claim.op == FRL_OP_pointwise) list_pointwise(target, cases, claim, number++);
    if (claim.op == FRL_OP_epilogue || claim.op == FRL_OP_prologue || claim.op == FRL_OP_subgraph)
      list_main(target, cases, claim);
  }
}

}  // namespace ferrule::conformance
