#include "core/pass/rope_parts.h"

#include <algorithm>
#include <cstring>

namespace ferrule {
namespace {

class Search {
 public:
  Search(const Graph& graph, Twos twos, std::set<std::string>* read_parameters)
      : graph_(graph), twos_(twos), read_(read_parameters) {}

  bool twice(ValueId given) {
    const ValueId id = graph_.resolve(given);
    const Shape& shape = graph_.shape(id);
    if (shape.rank() == 0 || !shape.is_exact() || shape.back() % 2 != 0 || budget_-- <= 0)
      return false;
    if (const Tensor* known = graph_.known(id)) return known_twice(graph_.value(id), *known);
    const Node* maker = graph_.maker(id);
    return maker && (made_twice(*maker, shape) || keeps_last(*maker, shape));
  }

 private:
  bool known_twice(const Value& value, const Tensor& tensor) {
    const int64_t width = tensor.shape().back(), half = width / 2;
    const auto size = size_t(size_bytes(tensor.element()));
    const std::byte* data = tensor.bytes().data();
    for (int64_t row = 0; row < tensor.n_elements(); row += width)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t a = row + (twos_ == Twos::halves ? i : 2 * i);
        const int64_t b = twos_ == Twos::halves ? a + half : a + 1;
        if (std::memcmp(data + size_t(a) * size, data + size_t(b) * size, size) != 0) return false;
      }
    if (read_ && value.role == Role::parameter) read_->insert(value.name);
    return true;
  }

  bool joins_equal(const Node& node) const {
    return node.op == FRL_OP_concat && node.operands.size() == 2 &&
           node.attributes.i(FRL_AT_concat_axis) == -1 &&
           graph_.resolve(node.operands[0]) == graph_.resolve(node.operands[1]);
  }

  // concat(t, t); or [.., n, 1] repeated to [.., n, 2] and flattened.
  bool made_twice(const Node& node, const Shape& shape) const {
    if (twos_ == Twos::halves) return joins_equal(node);
    const Node* repeat =
        node.op == FRL_OP_reshape ? graph_.maker(graph_.resolve(node.operands[0])) : nullptr;
    if (!repeat) return false;
    const Shape &to = graph_.shape(repeat->results[0]), &from = graph_.shape(repeat->operands[0]);
    const bool fits = to.rank() >= 2 && to.back() == 2 && 2 * to.from_end(-2) == shape.back();
    const bool repeats = repeat->op == FRL_OP_broadcast ? from.rank() > 0 && from.back() == 1
                                                        : joins_equal(*repeat) && from.back() == 1;
    return fits && repeats;
  }

  // The last axis is the operand's, element for element.
  bool keeps_last(const Node& node, const Shape& shape) {
    const OpRow* row = find_op(node.op);
    if (row && row->form == Form::pointwise)
      return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
        const Shape& of = graph_.shape(operand);
        return of.rank() == 0 || of.back() == 1 || twice(operand);
      });
    if (node.operands.empty() || node.operands[0] == kNoValue) return false;
    const Shape& from = graph_.shape(node.operands[0]);
    if (from.rank() == 0 || from.back() != shape.back()) return false;
    const bool keeps =
        node.op == FRL_OP_reshape || node.op == FRL_OP_broadcast || node.op == FRL_OP_slice ||
        (node.op == FRL_OP_gather && node.attributes.i(FRL_AT_gather_axis) != -1) ||
        (node.op == FRL_OP_transpose && node.attributes.list(FRL_AT_transpose_order).back() == -1);
    return keeps && twice(node.operands[0]);
  }

  const Graph& graph_;
  Twos twos_;
  std::set<std::string>* read_;
  int budget_ = 64;  // values looked at: tables are a few nodes away from their cosine
};

}  // namespace

bool holds_twice(const Graph& graph, ValueId id, Twos twos,
                 std::set<std::string>* read_parameters) {
  return Search(graph, twos, read_parameters).twice(id);
}

Result<ValueId> taken_once(Graph& graph, ValueId id, Twos twos) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : graph.shape(id).dims()) sizes.push_back(dim.extent);
  std::vector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
  sizes.back() /= 2;
  steps.back() = twos == Twos::pairs ? 2 : 1;
  Attributes slice(FRL_OP_slice);
  slice.set_list(FRL_AT_slice_starts, starts).set_list(FRL_AT_slice_sizes, sizes);
  if (twos == Twos::pairs) slice.set_list(FRL_AT_slice_steps, steps);
  return graph.emit(FRL_OP_slice, std::move(slice), {id});
}

}  // namespace ferrule
