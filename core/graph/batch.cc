// Batch regions: the body is one slice's; operands and results hold all slices along one axis each.
#include "core/graph/batch.h"
#include "core/base/text.h"

namespace ferrule {
namespace {

Status wrong(std::string text) { return Status(Code::invalid_argument, "batch: " + text); }

// The type of `slices` slices side by side along `axis`; 0: one that all share.
Result<TensorType> whole_type(const TensorType& slice, int64_t axis, int64_t slices) {
  if (axis == 0) return slice;
  const auto rank = int64_t(slice.shape.rank());
  if (axis < -rank || axis > -1) return wrong(cat("want axes in -", rank, " .. -1, got ", axis));
  TensorType out = slice;
  const size_t at = size_t(rank + axis);
  const Dim& dim = slice.shape.dim(at);
  if (dim.symbol) return wrong("want exact extents along sliced axes");
  out.shape.set(at, {dim.extent * slices, 0});
  return out;
}

Result<ValueId> cut(Graph& graph, ValueId whole, const TensorType& slice, int64_t axis,
                    int64_t number) {
  if (axis == 0) return whole;
  std::vector<int64_t> starts(slice.shape.rank(), 0), sizes;
  for (const Dim& dim : slice.shape.dims()) sizes.push_back(dim.extent);
  const size_t at = size_t(int64_t(sizes.size()) + axis);
  starts[at] = number * sizes[at];
  Attributes attributes(FRL_OP_slice);
  attributes.set_list(FRL_AT_slice_starts, starts).set_list(FRL_AT_slice_sizes, sizes);
  return graph.emit(FRL_OP_slice, std::move(attributes), {whole});
}

}  // namespace

int64_t batch_slices(const Node& node) { return node.attributes.i(FRL_AT_batch_slices); }

Result<std::vector<TensorType>> batch_types(const Attributes& attributes, const Graph& body,
                                            std::span<const TensorType> operands) {
  const auto& axes = attributes.list(FRL_AT_batch_axes);
  const int64_t slices = attributes.i(FRL_AT_batch_slices);
  const auto inputs = body.inputs();
  if (slices < 1 || slices > (int64_t(1) << 31)) return wrong(cat("want slices, got ", slices));
  if (operands.size() != inputs.size() || axes.size() != inputs.size() + body.outputs().size())
    return wrong(cat("want an operand and an axis for each of ", inputs.size(),
                     " body inputs and an axis for each output, got ", operands.size(),
                     " operands and ", axes.size(), " axes"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    FRL_LET(const TensorType want, whole_type(body.type(inputs[i]), axes[i], slices));
    if (operands[i] != want)
      return wrong(
          cat("operand ", i, ": want ", to_string(want), ", got ", to_string(operands[i])));
  }
  std::vector<TensorType> types;
  for (size_t r = 0; r < body.outputs().size(); ++r) {
    const int64_t axis = axes[inputs.size() + r];
    if (axis == 0) return wrong(cat("result ", r, ": want a sliced axis, got 0"));
    FRL_LET(TensorType type, whole_type(body.type(body.outputs()[r].value), axis, slices));
    types.push_back(std::move(type));
  }
  return types;
}

Result<Graph> unroll_batch(const Node& node, std::span<const TensorType> operands) {
  const Graph& body = *node.bodies[0];
  const auto& axes = node.attributes.list(FRL_AT_batch_axes);
  Graph out(op_row(node.op).name);
  out.share_symbols(body);
  std::vector<ValueId> wholes;
  for (size_t i = 0; i < operands.size(); ++i) wholes.push_back(out.add_input(operands[i], cat(i)));
  std::vector<std::vector<ValueId>> parts(body.outputs().size());
  for (int64_t number = 0; number < batch_slices(node); ++number) {
    std::vector<ValueId> slices;
    for (size_t i = 0; i < wholes.size(); ++i) {
      FRL_LET(const ValueId slice,
              cut(out, wholes[i], body.type(body.inputs()[i]), axes[i], number));
      slices.push_back(slice);
    }
    FRL_LET(const auto results, inline_body(out, body, slices));
    for (size_t r = 0; r < results.size(); ++r) parts[r].push_back(results[r]);
  }
  for (size_t r = 0; r < parts.size(); ++r) {
    const int64_t axis = axes[wholes.size() + r];
    FRL_LET(const ValueId whole,
            out.emit(FRL_OP_concat, Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, axis),
                     parts[r]));
    out.add_output(whole, cat(r));
  }
  return out;
}

}  // namespace ferrule
