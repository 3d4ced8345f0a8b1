// The walk over a graph: each node by its rule, under the licence of the claim that runs it.
#include <algorithm>

#include "conformance/judge/bounded.h"
#include "conformance/judge/judge.h"
#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

// RULE: ops of form PLAIN that have one; POINTWISE ops share bound_pointwise, others go by trial.
struct RuleRow {
  OpId op;
  NodeRule rule;
};
constexpr RuleRow kRules[] = {
    {FRL_OP_reshape, bound_move},
    {FRL_OP_transpose, bound_move},
    {FRL_OP_broadcast, bound_move},
    {FRL_OP_slice, bound_move},
    {FRL_OP_concat, bound_move},
    {FRL_OP_pad, bound_move},
    {FRL_OP_gather, bound_move},
    {FRL_OP_gather_elements, bound_move},
    {FRL_OP_gather_nd, bound_move},
    {FRL_OP_trilu, bound_move},
    {FRL_OP_scatter_elements, bound_scatter},
    {FRL_OP_scatter_nd, bound_scatter},
    {FRL_OP_reduce, bound_reduce},
    {FRL_OP_cumulative, bound_cumulative},
    {FRL_OP_arg_reduce, bound_select_places},
    {FRL_OP_topk, bound_topk},
    {FRL_OP_nonzero, bound_select_places},
    {FRL_OP_unique, bound_select_places},
    {FRL_OP_non_max_suppression, bound_select_places},
    {FRL_OP_softmax, bound_softmax},
    {FRL_OP_log_softmax, bound_softmax},
    {FRL_OP_matmul, bound_product},
    {FRL_OP_conv, bound_product},
    {FRL_OP_conv_transpose, bound_product},
    {FRL_OP_max_pool, bound_pool},
    {FRL_OP_avg_pool, bound_pool},
    {FRL_OP_resize, bound_resample},
    {FRL_OP_grid_sample, bound_resample},
    {FRL_OP_roi_align, bound_resample},
    {FRL_OP_dft, bound_dft},
    {FRL_OP_det, bound_det},
};

NodeRule rule_of(const OpRow& row) {
  if (row.form == Form::pointwise) return bound_pointwise;
  for (const RuleRow& rule : kRules)
    if (rule.op == row.id) return rule.rule;
  return bound_by_trial;
}

Bounded exact_value(const Tensor& tensor) {
  if (!is_float(tensor.element()) || tensor.element() == Type::f64)
    return {tensor.type(), tensor, {}};
  return {tensor.type(), tabulate(tensor.shape(), [&](int64_t i) { return tensor.at_f64(i); }), {}};
}

// What surrounds the nodes of a graph.
struct Around {
  const Claim* kind = nullptr;  // the claim of the region whose body this is; null at the top
  bool is_open = false;         // members of an open kind may have rows of their own
};

class Walk {
 public:
  Walk(const DeviceRow& device, Inner inner, uint32_t compute)
      : device_(device), inner_(inner), compute_(compute) {}

  Bounds run(const Graph& graph, std::vector<Bounded> inputs, Around around) {
    std::vector<Bounded> values(graph.n_values());
    for (size_t i = 0; i < graph.n_values(); ++i)
      if (const Tensor* known = graph.known(ValueId(i))) values[i] = exact_value(*known);
    for (size_t i = 0; i < inputs.size(); ++i)
      values[index(graph.inputs()[i])] = std::move(inputs[i]);
    for (const Node& node : graph.nodes()) {
      FRL_LET(auto results, run_node(graph, node, values, around));
      for (size_t r = 0; r < results.size(); ++r)
        values[index(node.results[r])] = std::move(results[r]);
    }
    std::vector<Bounded> out;
    for (const Output& output : graph.outputs()) out.push_back(values[index(output.value)]);
    return out;
  }

 private:
  const Claim* claim_of(const Graph& graph, const Node& node, const Around& around) const {
    if (around.kind && !around.is_open) return around.kind;
    if (const Answer answer = match_claims(device_, graph, node, compute_); answer.claim)
      return answer.claim;
    if (around.kind) return around.kind;
    const OpRow* row = find_op(node.op);
    if (row && row->form == Form::pointwise)
      for (const Claim& claim : device_.claims)
        if (claim.op == FRL_OP_pointwise &&
            std::binary_search(claim.members.begin(), claim.members.end(), node.op))
          return &claim;
    return nullptr;
  }

  Bounds run_node(const Graph& graph, const Node& node, const std::vector<Bounded>& values,
                  const Around& around) {
    const OpRow* row = find_op(node.op);
    const Claim* claim = claim_of(graph, node, around);
    if (!row || row->form == Form::closed || row->form == Form::open) {
      FRL_LET(const Body body, region_body(graph, node));
      std::vector<Bounded> inputs;
      for (ValueId id : node.operands)
        if (id != kNoValue) inputs.push_back(values[index(id)]);
      return run(*body, std::move(inputs), {claim, !row || row->form == Form::open});
    }
    if (row->form == Form::control)
      return Status(Code::unsupported, cat("judge: no rule for ", row->name));
    NodeCall call{node, *row, {}, {}, licence_of(graph, node, claim, around)};
    std::vector<Bounded> flushed;
    flushed.reserve(node.operands.size());
    for (ValueId id : node.operands)
      call.operands.push_back(id == kNoValue ? nullptr
                                             : flush(values[index(id)], call.licence, flushed));
    for (ValueId id : node.results) call.results.push_back(graph.type(id));
    auto results = rule_of(*row)(call);
    if (!results.ok()) return std::move(results).within(row->name).status();
    const NodeRule rule = rule_of(*row);
    const bool keeps_numbers = rule == bound_move || (rule == bound_pointwise && !rounds(row->id));
    for (Bounded& y : *results) {
      if (call.licence.leaves_wide && keeps_numbers && is_float(y.type.type))
        round_result(y, call.licence, true);
      settle(y, call.licence);
      if (!is_output(graph, node)) leave_range(y, call.licence);
    }
    return results;
  }

  // An operand whose denormals may count as zero.
  static const Bounded* flush(const Bounded& x, const Licence& licence,
                              std::vector<Bounded>& kept) {
    if (!(licence.fp & FRL_FP_FLUSHES_INPUTS) || !is_float(x.type.type)) return &x;
    const double least = format_of(x.type.type).min_normal();
    Bounded out = x;
    add_error(out, [&](int64_t i) { return std::fabs(x.at(i)) < least ? std::fabs(x.at(i)) : 0; });
    kept.push_back(std::move(out));
    return &kept.back();
  }

  // An inner value beyond its type's range is an infinity; near the edge of it, or where it may be
  // kept in any wider type, perhaps.
  static void leave_range(Bounded& y, const Licence& licence) {
    if (!is_float(y.type.type) || y.is_exact()) return;
    const double limit = format_of(licence.precision(y.type.type)).overflow();
    Tensor value(y.value.type());
    y.error = tabulate(y.value.shape(), [&](int64_t i) {
      const double v = y.at(i), e = y.error_at(i);
      value.set_f64(i, v);
      if (!std::isfinite(v) || std::fabs(v) + e < limit) return e;
      if (std::fabs(v) - e < limit || licence.is_wide) return kInfinite;
      value.set_f64(i, v > 0 ? kInfinite : -kInfinite);
      return 0.0;
    });
    y.value = std::move(value);
  }

  static bool is_output(const Graph& graph, const Node& node) {
    for (const Output& output : graph.outputs())
      for (ValueId result : node.results)
        if (output.value == result) return true;
    return false;
  }

  static bool only_sums_use(const Graph& graph, const Node& node) {
    for (const Node& user : graph.nodes())
      for (ValueId operand : user.operands)
        if (operand == node.results[0] && user.op != FRL_OP_add && user.op != FRL_OP_sub)
          return false;
    return true;
  }
  static bool is_used(const Graph& graph, const Node& node) {
    for (const Node& user : graph.nodes())
      for (ValueId operand : user.operands)
        for (ValueId result : node.results)
          if (operand == result) return true;
    return false;
  }

  Licence licence_of(const Graph& graph, const Node& node, const Claim* claim,
                     const Around& around) const {
    Licence out;
    out.compute = compute_;
    if (!claim) return out;
    out.unit = claim->error, out.amount = claim->error_milli / 1000.0;
    out.accumulate = claim->accumulate, out.fp = claim->fp;
    if (!around.kind) return out;
    out.fp |= around.kind->fp;
    const bool wide =
        inner_ == Inner::claimed ? around.kind->fp & FRL_FP_WIDE_INSIDE : inner_ == Inner::wide;
    const bool output = is_output(graph, node);
    out.is_wide = wide && !output;
    out.leaves_wide = wide && output;
    out.may_contract = (wide && output && is_used(graph, node)) ||
                       (node.op == FRL_OP_mul && out.fp & FRL_FP_CONTRACTS && !output &&
                        only_sums_use(graph, node));
    return out;
  }

  const DeviceRow& device_;
  Inner inner_;
  uint32_t compute_;
};

Expected expected_of(const Bounded& y) {
  Expected out;
  out.type = {y.type.type, y.value.shape()};
  const int64_t n = y.value.n_elements();
  if (!is_float(y.type.type)) {
    out.exact = y.value;
  } else {
    out.exact = Tensor(out.type);
    for (int64_t i = 0; i < n; ++i) out.exact.set_f64(i, y.at(i));
    out.value.assign(y.value.as<double>().begin(), y.value.as<double>().end());
  }
  for (int64_t i = 0; i < n; ++i) out.bound.push_back(y.error_at(i));
  out.terms = y.terms;
  return out;
}

}  // namespace

Result<std::vector<Expected>> expect(const Graph& graph, std::span<const Tensor> inputs,
                                     const DeviceRow& row, Inner inner, uint32_t compute) {
  std::vector<Bounded> bounded;
  for (const Tensor& input : inputs) bounded.push_back(exact_value(input));
  FRL_LET(const auto results, Walk(row, inner, compute).run(graph, std::move(bounded), {}));
  // The texts may be asked for when the caller's graph is gone.
  struct Asked {
    Graph graph;
    std::vector<Tensor> inputs;
  };
  const auto asked = std::make_shared<const Asked>(Asked{graph, {inputs.begin(), inputs.end()}});
  std::vector<Expected> out;
  for (const Bounded& y : results) {
    out.push_back(expected_of(y));
    out.back().operands = [asked, output = out.size() - 1](int64_t i) {
      return operands_text(asked->graph, asked->inputs, output, i);
    };
  }
  return out;
}

uint32_t fp_of(const Graph& one_node, const DeviceRow& row, uint32_t compute) {
  const Answer answer = match_claims(row, one_node, one_node.node(NodeId(0)), compute);
  return answer.claim ? answer.claim->fp : 0;
}

}  // namespace ferrule::conformance
