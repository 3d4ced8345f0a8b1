// Formulas over values of a block: each makes at most a few nodes, and none where nothing changes.
// Axes count from 0, or from the end if negative. After an error they give a value that is none.
#pragma once

#include <vector>

#include "core/model/block.h"

namespace ferrule {

using Ints = std::vector<int64_t>;

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator/(Val a, Val b);
// The number takes the value's type.
Val operator+(Val a, double b);
Val operator-(Val a, double b);
Val operator*(Val a, double b);
Val operator/(Val a, double b);
Val operator-(double a, Val b);

// Pointwise ops without attributes, by id.
Val apply(OpId op, Val a);
Val apply(OpId op, Val a, Val b);
Val apply(OpId op, Val a, double b);
Val select(Val condition, Val a, Val b);
Val cast(Val x, Type to);

Val reshape(Val x, const Ints& dims);
Val transpose(Val x, const Ints& order);
Val swap_last(Val x);  // the last two axes
Val broadcast_to(Val x, const Ints& dims);
Val unsqueeze(Val x, Ints axes);  // axes of the result
Val squeeze(Val x, const Ints& axes);
// All axes before `axis` become one, and all others another.
Val flatten(Val x, int64_t axis);
// x with axes of 1 behind its own, so that its first axis is axis `axis` of a tensor of that rank.
Val align(Val x, int64_t axis, int64_t rank);

Val slice(Val x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
Val slice(Val x, const Ints& starts, const Ints& sizes, const Ints& steps);
Val concat(const std::vector<Val>& parts, int64_t axis);
Val pad(Val x, const Ints& begins, const Ints& ends, int64_t mode = 0, Val fill = {});
Val gather(Val x, Val indices, int64_t axis);
Val gather_elements(Val x, Val indices, int64_t axis);

Val reduce(OpId by, Val x, const Ints& axes, bool keep = true);
Val mean(Val x, const Ints& axes, bool keep = true);
Val softmax(Val x, int64_t axis, OpId op = FRL_OP_softmax);
Val matmul(Val a, Val b);  // as NumPy: a vector is a row on the left, a column on the right
Val topk_places(Val x, int64_t axis, int64_t k);

// 0, 1, .. n - 1 as a literal or a parameter.
Val iota(ImportBlock& block, Type type, int64_t n);

// As the kinds do: sums and squares of 16-bit floats need the range of f32.
template <class Fn>
Val in_wide(Val x, Fn fn) {
  return cast(fn(cast(x, wide(x.element()))), x.element());
}

// axis + rank if it is negative; out of range stays out of range.
inline int64_t from_start(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
inline int64_t from_end(int64_t axis, int64_t rank) { return axis < 0 ? axis : axis - rank; }
Ints axes_between(int64_t first, int64_t last);  // first .. last - 1

}  // namespace ferrule
