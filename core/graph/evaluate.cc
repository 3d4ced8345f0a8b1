// Reference evaluation of graphs: op rows for plain nodes, bodies for everything else.
#include <cstring>

#include "core/base/text.h"
#include "core/graph/graph.h"

namespace ferrule {
namespace {

using Tensors = std::vector<Tensor>;

bool is_true(const Tensor& condition) { return condition.as<bool>()[0]; }

// A byte copy between a tensor and one slice of it along `axis`; the slice has the axis removed.
struct SliceCopy {
  int64_t outer, length, inner_bytes;
  SliceCopy(const TensorType& whole, int64_t axis) {
    const auto at = size_t(int64_t(whole.shape.rank()) + axis);
    outer = 1, length = whole.shape[at], inner_bytes = size_bytes(whole.type);
    for (size_t i = 0; i < at; ++i) outer *= whole.shape[i];
    for (size_t i = at + 1; i < whole.shape.rank(); ++i) inner_bytes *= whole.shape[i];
  }
  template <class Fn>  // fn(offset in the whole, offset in the slice)
  void each(int64_t slice, Fn&& fn) const {
    for (int64_t o = 0; o < outer; ++o) fn((o * length + slice) * inner_bytes, o * inner_bytes);
  }
};

Result<Tensors> evaluate_if(const Node& node, const Tensors& operands) {
  const Tensors inner(operands.begin() + 1, operands.end());
  return evaluate(*node.bodies[is_true(operands[0]) ? 0 : 1], inner);
}

Result<Tensors> evaluate_while(const Node& node, Tensors values) {
  const int64_t carried = node.attributes.i(FRL_AT_while_carried);
  const int64_t most = node.attributes.i(FRL_AT_while_max_trips);
  for (int64_t trip = 0; most == 0 || trip < most; ++trip) {
    FRL_LET(const Tensors condition, evaluate(*node.bodies[0], values));
    if (!is_true(condition[0])) break;
    FRL_LET(Tensors next, evaluate(*node.bodies[1], values));
    std::move(next.begin(), next.end(), values.begin());
  }
  values.resize(size_t(carried));
  return values;
}

Result<Tensors> evaluate_scan(const Graph& graph, const Node& node, Tensors operands) {
  const Graph& body = *node.bodies[0];
  const int64_t carried = node.attributes.i(FRL_AT_scan_carried),
                sliced = node.attributes.i(FRL_AT_scan_sliced);
  const int64_t length = node.attributes.i(FRL_AT_scan_length);
  const auto& axes = node.attributes.list(FRL_AT_scan_axes);
  const auto& reverse = node.attributes.list(FRL_AT_scan_reverse);
  const auto place = [&](int64_t i, int64_t trip) {
    return !reverse.empty() && reverse[size_t(i)] ? length - 1 - trip : trip;
  };
  Tensors whole;
  for (size_t i = size_t(carried); i < node.results.size(); ++i)
    whole.emplace_back(graph.type(node.results[i]));
  for (int64_t trip = 0; trip < length; ++trip) {
    Tensors inner = operands;
    for (int64_t i = 0; i < sliced; ++i) {
      const Tensor& from = operands[size_t(carried + i)];
      Tensor slice(body.type(body.inputs()[size_t(carried + i)]));
      const SliceCopy copy(from.type(), axes[size_t(i)]);
      copy.each(place(i, trip), [&](int64_t w, int64_t s) {
        std::memcpy(slice.mutable_data() + s, from.bytes().data() + w, size_t(copy.inner_bytes));
      });
      inner[size_t(carried + i)] = std::move(slice);
    }
    FRL_LET(Tensors results, evaluate(body, inner));
    std::move(results.begin(), results.begin() + carried, operands.begin());
    for (size_t i = 0; i < whole.size(); ++i) {
      const SliceCopy copy(whole[i].type(), axes[size_t(sliced) + i]);
      copy.each(place(sliced + int64_t(i), trip), [&](int64_t w, int64_t s) {
        std::memcpy(whole[i].mutable_data() + w, results[size_t(carried) + i].bytes().data() + s,
                    size_t(copy.inner_bytes));
      });
    }
  }
  operands.resize(size_t(carried));
  std::move(whole.begin(), whole.end(), std::back_inserter(operands));
  return operands;
}

Result<Tensors> evaluate_plain(const Node& node, const Tensors& values) {
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> operands;
  for (ValueId operand : node.operands) {
    const Tensor* tensor = operand == kNoValue ? nullptr : &values[index(operand)];
    operands.push_back(tensor);
    types.push_back(tensor ? &tensor->type() : nullptr);
  }
  const OpCall call{op_row(node.op), node.attributes, types};
  // Inferred again: an operand of data-dependent extent is smaller than the graph says.
  FRL_LET(const auto inferred, infer_results(call));
  Tensors results;
  for (const TensorType& type : inferred) results.emplace_back(type);
  FRL_TRY(call.row.eval(call, operands, results));
  return results;
}

Result<Tensors> evaluate_node(const Graph& graph, const Node& node, const Tensors& values) {
  const OpRow* row = find_op(node.op);
  if (row && (row->form == Form::plain || row->form == Form::pointwise))
    return evaluate_plain(node, values);
  Tensors operands;
  for (ValueId operand : node.operands)
    if (operand != kNoValue) operands.push_back(values[index(operand)]);
  if (node.op == FRL_OP_if) return evaluate_if(node, operands);
  if (node.op == FRL_OP_while) return evaluate_while(node, std::move(operands));
  if (node.op == FRL_OP_scan) return evaluate_scan(graph, node, std::move(operands));
  FRL_LET(const Body body, region_body(graph, node));
  return evaluate(*body, operands);
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size())
    return Status(Code::invalid_argument,
                  cat("evaluate: want ", graph.inputs().size(), " inputs, got ", inputs.size()));
  Tensors values(graph.n_values());
  for (size_t i = 0; i < graph.n_values(); ++i)
    if (const Tensor* known = graph.known(ValueId(i))) values[i] = *known;
  for (size_t i = 0; i < inputs.size(); ++i) values[index(graph.inputs()[i])] = inputs[i];
  std::vector<uint32_t> uses = graph.count_uses();
  for (const Node& node : graph.nodes()) {
    auto results = evaluate_node(graph, node, values);
    if (!results.ok()) return std::move(results).within(graph.source_text(node)).status();
    for (size_t r = 0; r < node.results.size(); ++r)
      values[index(node.results[r])] = std::move((*results)[r]);
    for (ValueId operand : node.operands)
      if (operand != kNoValue && --uses[index(operand)] == 0) values[index(operand)] = Tensor();
  }
  Tensors outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(values[index(output.value)]);
  return outputs;
}

}  // namespace ferrule
