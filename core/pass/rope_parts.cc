#include "core/pass/rope_parts.h"

namespace ferrule {
namespace {

// By an index that drops the axis of two.
bool gathers(const Graph& graph, const Node& part, int64_t number) {
  const Tensor* index = graph.literal(graph.resolve(part.operands[1]));
  return index && index->shape().rank() == 0 && part.attributes.i(FRL_AT_gather_axis) == -1 &&
         index->at_i64(0) == number;
}

}  // namespace

bool is_part(const Graph& graph, const Node& part, const Shape& x, Twos twos, bool in_pairs,
             int64_t number) {
  const Shape &from = graph.shape(part.operands[0]), &to = graph.shape(part.results[0]);
  if (x.rank() == 0 || !x.is_exact() || x.back() % 2 != 0) return false;
  const int64_t n = x.back() / 2;
  if (in_pairs &&
      (twos == Twos::halves || from.rank() < 2 || from.back() != 2 || from.from_end(-2) != n))
    return false;
  if (part.op == FRL_OP_gather) return in_pairs && gathers(graph, part, number);
  for (size_t axis = 0; axis + 1 < from.rank(); ++axis)
    if (from[axis] != to[axis]) return false;
  const int64_t start = part.attributes.list(FRL_AT_slice_starts).back();
  if (in_pairs) return to.back() == 1 && start == number;
  const auto& steps = part.attributes.list(FRL_AT_slice_steps);
  const int64_t step = steps.empty() || n == 1 ? 1 : steps.back();
  return to.back() == n && (twos == Twos::pairs ? start == number && (step == 2 || n == 1)
                                                : start == number * n && step == 1);
}

}  // namespace ferrule
