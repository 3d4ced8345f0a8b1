#include "core/pass/attention_parts.h"

#include <algorithm>
#include <cmath>

namespace ferrule {
namespace {

std::vector<int64_t> swapped(std::vector<int64_t> of) {
  std::swap(of[of.size() - 1], of[of.size() - 2]);
  return of;
}

}  // namespace

bool swaps_last(const Node& node) {
  if (node.op != FRL_OP_transpose) return false;
  const auto& order = node.attributes.list(FRL_AT_transpose_order);
  if (order.size() < 2) return false;
  const auto back = swapped(order);
  return std::is_sorted(back.begin(), back.end());
}

Result<ValueId> transposed(Graph& graph, ValueId id) {
  const Node* maker = graph.maker(id);
  if (!maker || graph.shape(id).rank() < 2) return kNoValue;
  const ValueId from = graph.resolve(maker->operands[0]);
  if (maker->op == FRL_OP_transpose) {
    if (swaps_last(*maker)) return from;
    auto order = swapped(maker->attributes.list(FRL_AT_transpose_order));
    return graph.emit(
        FRL_OP_transpose,
        Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, std::move(order)), {from});
  }
  // Leading axes may be joined or split on the way.
  const Shape &to = graph.shape(id), &of = graph.shape(from);
  if (maker->op != FRL_OP_reshape || of.rank() < 2 || of.from_end(-1) != to.from_end(-1) ||
      of.from_end(-2) != to.from_end(-2))
    return kNoValue;
  auto shape = swapped(maker->attributes.list(FRL_AT_reshape_shape));
  const Node* before = graph.maker(from);
  if (!before || before->op != FRL_OP_transpose) return kNoValue;
  FRL_LET(const ValueId inner, transposed(graph, from));
  return graph.emit(FRL_OP_reshape,
                    Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, std::move(shape)),
                    {inner});
}

bool absorbs(double fill, Type type) {
  return fill < 0 && (type == Type::f64 ? fill + 32 == fill : float(fill) + 32.0f == float(fill));
}

Result<Mask> filled_mask(Graph& graph, ValueId condition, bool keeps, ValueId fill) {
  const double number = graph.literal(fill)->at_f64(0);
  if (number == -INFINITY) {
    if (keeps) return Mask{Mask::boolean, condition};
    const Node* maker = graph.maker(condition);
    if (maker && maker->op == FRL_OP_logical_not)
      return Mask{Mask::boolean, graph.resolve(maker->operands[0])};
    FRL_LET(const ValueId kept, graph.emit(FRL_OP_logical_not, {condition}));
    return Mask{Mask::boolean, kept};
  }
  const Type type = graph.type(fill).type;
  if (!absorbs(number, type)) return Mask{Mask::other};
  const ValueId zero = graph.add_literal(Tensor::scalar(type, 0));
  FRL_LET(const ValueId added,
          graph.emit(FRL_OP_select, {condition, keeps ? zero : fill, keeps ? fill : zero}));
  return Mask{Mask::additive, added};
}

}  // namespace ferrule
