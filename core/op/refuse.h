// What the shape rules share: refusals, operands, axes, attribute lists and result types.
#pragma once

#include <string_view>
#include <vector>

#include "core/op/op.h"

namespace ferrule {

using Dims = std::vector<Dim>;
using Types = Result<std::vector<TensorType>>;

// Largest value of an attribute that counts elements along an axis of a window.
constexpr int64_t kMaxWindow = INT32_MAX;

// "conv: want `want`, got f32[1,4,8,8], f32[2,3,3,3]"
Status refuse(const OpCall& call, std::string_view want);
// "slice: want `want`, got `got`"
Status refuse(const OpCall& call, std::string_view want, std::string_view got);

// "[1,2,3]"
std::string list_text(std::span<const int64_t> list);
// The schema's name of an attribute.
const char* attribute_name(const OpCall& call, uint32_t slot);

// Whether optional operand i is there.
inline bool has(const OpCall& call, size_t i) {
  return i < call.operands.size() && call.operands[i];
}
inline const Shape& shape_of(const OpCall& call, size_t i) { return call.operands[i]->shape; }
inline Type type_of(const OpCall& call, size_t i) { return call.operands[i]->type; }
inline Dims dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

// Every operand that is there, from `first` on, has the type of operand `first`.
Status want_one_type(const OpCall& call, size_t first = 0);
// Operand i is i32 or i64.
Status want_indices(const OpCall& call, size_t i);
Status want_min_rank(const OpCall& call, size_t i, size_t rank);
// Operand i, if it is there, has this type and exactly these dims, symbols included.
Status want_operand(const OpCall& call, size_t i, Type type, const Dims& dims);
// Axis of operand i has no symbol: the rule must compute with its extent.
Status want_exact(const OpCall& call, size_t i, size_t axis);

// An axis counted from the end as one counted from 0.
//   errors  invalid_argument outside -rank .. -1
Result<size_t> axis_of(const OpCall& call, int64_t axis, size_t rank);
// The same for all of a list; no axis occurs twice.
Result<std::vector<size_t>> axes_of(const OpCall& call, std::span<const int64_t> axes, size_t rank);

// List attribute of n values, each in lo .. hi.
//   errors  invalid_argument for another length (0 stands for n times `fallback`) or a value
//   outside
Result<std::vector<int64_t>> list_of(const OpCall& call, uint32_t slot, size_t n, int64_t fallback,
                                     int64_t lo, int64_t hi);

// True if an index below a is always below b, whatever the symbols turn out to be.
inline bool fits(const Dim& a, const Dim& b) {
  return a == b || (!b.symbol && a.extent <= b.extent);
}

// The op that an activation attribute names: a POINTWISE op from one float to one of the same type.
// Null for any other id.
const OpRow* activation_row(int64_t id);

// errors  out_of_limits for too many axes or elements
Result<TensorType> make_type(const OpCall& call, Type type, const Dims& dims);
Types one_result(const OpCall& call, Type type, const Dims& dims);

}  // namespace ferrule
