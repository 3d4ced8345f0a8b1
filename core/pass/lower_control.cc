// Control flow without control: both branches and a selection, loops written out. Only where the
// bodies cannot fail and have no end of their own, and where the gate agrees.
#include <algorithm>

#include "core/base/text.h"
#include "core/pass/pass.h"

namespace ferrule {
namespace {

constexpr int64_t kMostTrips = 64, kMostNodes = 4096;

// Ops that may fail on elements they would not have seen, or that make their own extents.
bool is_pure(const Graph& body) {
  for (const Node& node : body.nodes()) {
    const OpRow* row = find_op(node.op);
    if (!row || row->form == Form::control) return false;
    switch (node.op) {
      case FRL_OP_gather:
      case FRL_OP_gather_elements:
      case FRL_OP_gather_nd:
      case FRL_OP_scatter_elements:
      case FRL_OP_scatter_nd:
      case FRL_OP_nonzero:
      case FRL_OP_unique:
      case FRL_OP_non_max_suppression:
        return false;
      default:
        break;
    }
  }
  for (const Value& value : body.values())
    if (!value.type.shape.is_exact() || value.role == Role::state || value.role == Role::parameter)
      return false;
  return true;
}

Profile profile_body(const Graph& body) {
  Profile out;
  for (const Node& node : body.nodes()) out += profile_node(body, node);
  return out;
}

class Lowering {
 public:
  Lowering(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Result<bool> run() {
    bool changed = false;
    const size_t n_nodes = graph_.n_nodes();
    for (size_t i = 0; i < n_nodes; ++i) {
      const Node node = graph_.node(NodeId(i));
      const OpRow* row = find_op(node.op);
      if (!row || row->form != Form::control || !fits(node)) continue;
      graph_.set_sources(node.sources), graph_.set_device(node.device);
      auto results = node.op == FRL_OP_if      ? lower_if(node)
                     : node.op == FRL_OP_while ? lower_while(node)
                                               : lower_scan(node);
      if (!results.ok()) return results.status();
      for (size_t r = 0; r < node.results.size(); ++r) {
        if (graph_.type((*results)[r]) != graph_.type(node.results[r]))
          return Status(Code::internal, cat(row->name, ": lowered to another type"));
        graph_.replace(node.results[r], (*results)[r]);
      }
      changed = true;
    }
    return changed;
  }

 private:
  int64_t trips(const Node& node) const {
    if (node.op == FRL_OP_while) return node.attributes.i(FRL_AT_while_max_trips);
    return node.op == FRL_OP_scan ? node.attributes.i(FRL_AT_scan_length) : 1;
  }

  // A branch waits for its condition, a loop for each trip's; written out they wait for nothing,
  // but all bodies run.
  bool fits(const Node& node) {
    Candidate candidate{"lower_control", op_row(node.op).name, graph_.source_text(node)};
    Profile before, after;
    int64_t nodes = 0;
    bool pure = true;
    for (const Body& body : node.bodies) {
      pure &= is_pure(*body), nodes += int64_t(body->n_nodes());
      after += profile_body(*body);
    }
    const int64_t n = trips(node);
    before = node.op == FRL_OP_if ? profile_body(*node.bodies[0]) : after;
    before.syncs = node.op == FRL_OP_scan ? 0 : 1;
    for (ValueId result : node.results) {
      if (node.op == FRL_OP_scan) break;
      after.launches += 1, after.device_bytes += 3 * graph_.type(result).size_bytes();
    }
    if (node.op == FRL_OP_scan) before.launches += 1;  // a trip of the plan's own loop
    const GateAnswer gate = ask_gate(context_.device.cost, before, after, context_.options.gate);
    candidate.before_ps = gate.before_ps * std::max<int64_t>(n, 1);
    candidate.after_ps = gate.after_ps * std::max<int64_t>(n, 1);
    if (!pure)
      candidate.reason = "bodies: want ops that cannot fail and whose extents are known";
    else if (node.op != FRL_OP_if && (n < 1 || n > kMostTrips || n * nodes > kMostNodes))
      candidate.reason = cat("trips: want 1 to ", kMostTrips, " and at most ", kMostNodes,
                             " nodes in all, got ", n, " of ", nodes);
    else
      candidate.reason = unless_gains(gate, context_.device.cost);
    candidate.accepted = candidate.reason.empty();
    context_.report.candidates.push_back(candidate);
    return candidate.accepted;
  }

  Result<ValueId> select(ValueId condition, ValueId yes, ValueId no) {
    FRL_LET(
        const ValueId flat,
        graph_.emit(FRL_OP_reshape, Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, {}),
                    {condition}));
    return graph_.emit(FRL_OP_select, {flat, yes, no});
  }

  Result<std::vector<ValueId>> lower_if(const Node& node) {
    std::vector<ValueId> inputs, results;
    for (size_t i = 1; i < node.operands.size(); ++i)
      inputs.push_back(graph_.resolve(node.operands[i]));
    FRL_LET(const auto yes, inline_body(graph_, *node.bodies[0], inputs));
    FRL_LET(const auto no, inline_body(graph_, *node.bodies[1], inputs));
    for (size_t r = 0; r < yes.size(); ++r) {
      FRL_LET(const ValueId result, select(graph_.resolve(node.operands[0]), yes[r], no[r]));
      results.push_back(result);
    }
    return results;
  }

  // A trip counts only while every condition so far held.
  Result<std::vector<ValueId>> lower_while(const Node& node) {
    const auto carried = size_t(node.attributes.i(FRL_AT_while_carried));
    std::vector<ValueId> values;
    for (ValueId operand : node.operands) values.push_back(graph_.resolve(operand));
    ValueId active = kNoValue;
    for (int64_t trip = 0; trip < trips(node); ++trip) {
      FRL_LET(const auto holds, inline_body(graph_, *node.bodies[0], values));
      ValueId now = holds[0];
      if (active != kNoValue) {
        FRL_LET(now, graph_.emit(FRL_OP_logical_and, {active, now}));
      }
      active = now;
      FRL_LET(const auto next, inline_body(graph_, *node.bodies[1], values));
      for (size_t r = 0; r < carried; ++r) {
        FRL_LET(values[r], select(active, next[r], values[r]));
      }
    }
    values.resize(carried);
    return values;
  }

  Result<ValueId> slice_at(ValueId x, int64_t axis, int64_t place) {
    const Shape& shape = graph_.shape(x);
    std::vector<int64_t> starts(shape.rank()), sizes, rest;
    const size_t at = size_t(int64_t(shape.rank()) + axis);
    for (size_t d = 0; d < shape.rank(); ++d) {
      sizes.push_back(d == at ? 1 : shape[d]);
      if (d != at) rest.push_back(shape[d]);
    }
    starts[at] = place;
    FRL_LET(const ValueId part, graph_.emit(FRL_OP_slice,
                                            Attributes(FRL_OP_slice)
                                                .set_list(FRL_AT_slice_starts, starts)
                                                .set_list(FRL_AT_slice_sizes, sizes),
                                            {x}));
    return graph_.emit(FRL_OP_reshape,
                       Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, rest), {part});
  }

  Result<std::vector<ValueId>> lower_scan(const Node& node) {
    const auto& a = node.attributes;
    const auto carried = size_t(a.i(FRL_AT_scan_carried)), sliced = size_t(a.i(FRL_AT_scan_sliced));
    const auto &axes = a.list(FRL_AT_scan_axes), &reverse = a.list(FRL_AT_scan_reverse);
    const int64_t length = trips(node);
    const auto place = [&](size_t i, int64_t trip) {
      return !reverse.empty() && reverse[i] ? length - 1 - trip : trip;
    };
    std::vector<ValueId> values;
    for (ValueId operand : node.operands) values.push_back(graph_.resolve(operand));
    const size_t n_out = node.results.size() - carried;
    std::vector<std::vector<ValueId>> rows(n_out, std::vector<ValueId>(size_t(length)));
    for (int64_t trip = 0; trip < length; ++trip) {
      std::vector<ValueId> inputs = values;
      for (size_t i = 0; i < sliced; ++i) {
        FRL_LET(inputs[carried + i], slice_at(values[carried + i], axes[i], place(i, trip)));
      }
      FRL_LET(const auto next, inline_body(graph_, *node.bodies[0], inputs));
      std::copy(next.begin(), next.begin() + int64_t(carried), values.begin());
      for (size_t i = 0; i < n_out; ++i)
        rows[i][size_t(place(sliced + i, trip))] = next[carried + i];
    }
    std::vector<ValueId> results(values.begin(), values.begin() + int64_t(carried));
    for (size_t i = 0; i < n_out; ++i) {
      FRL_LET(const ValueId whole,
              joined(rows[i], graph_.shape(node.results[carried + i]), axes[sliced + i]));
      results.push_back(whole);
    }
    return results;
  }

  Result<ValueId> joined(std::vector<ValueId> rows, const Shape& whole, int64_t axis) {
    std::vector<int64_t> shape;
    for (size_t d = 0; d < whole.rank(); ++d)
      shape.push_back(int64_t(d) - int64_t(whole.rank()) == axis ? 1 : whole[d]);
    for (ValueId& row : rows) {
      FRL_LET(row,
              graph_.emit(FRL_OP_reshape,
                          Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, shape), {row}));
    }
    return graph_.emit(FRL_OP_concat, Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, axis),
                       std::move(rows));
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

extern const Pass lower_control = {
    .name = "lower_control",
    .doc = "LowerControlFlow: branches become selections, short loops are written out",
    .when =
        [](const PassContext& c) {
          return c.number < 0 ? std::string("no device to ask") : unless_off(c);
        },
    .run = [](Graph& g, PassContext& c) { return Lowering(g, c).run(); },
};

}  // namespace ferrule
