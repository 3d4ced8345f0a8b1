#include "core/op/refuse.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/op/rules.h"

namespace ferrule {

std::string list_text(std::span<const int64_t> list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += cat(i ? "," : "", list[i]);
  return out + "]";
}

const char* attribute_name(const OpCall& call, uint32_t slot) {
  return attribute_rows(call.row.id)[slot].name;
}

Status refuse(const OpCall& call, std::string_view want, std::string_view got) {
  return Status(Code::invalid_argument, cat(call.row.name, ": want ", want, ", got ", got));
}

Status refuse(const OpCall& call, std::string_view want) {
  std::string got;
  for (size_t i = 0; i < call.operands.size(); ++i)
    got += cat(i ? ", " : "", call.operands[i] ? to_string(*call.operands[i]) : "nothing");
  return refuse(call, want, got);
}

Status want_one_type(const OpCall& call, size_t first) {
  for (size_t i = first; i < call.operands.size(); ++i)
    if (call.operands[i] && type_of(call, i) != type_of(call, first))
      return refuse(call, "operands of one element type");
  return {};
}

Status want_indices(const OpCall& call, size_t i) {
  if (type_of(call, i) == Type::i32 || type_of(call, i) == Type::i64) return {};
  return refuse(call, cat("i32 or i64 as operand ", i));
}

Status want_min_rank(const OpCall& call, size_t i, size_t rank) {
  if (shape_of(call, i).rank() >= rank) return {};
  return refuse(call, cat("rank ", rank, " or more of operand ", i));
}

Status want_operand(const OpCall& call, size_t i, Type type, const Dims& dims) {
  if (!has(call, i)) return {};
  const auto have = shape_of(call, i).dims();
  if (type_of(call, i) == type && std::equal(have.begin(), have.end(), dims.begin(), dims.end()))
    return {};
  std::string want = "[";
  for (size_t k = 0; k < dims.size(); ++k)
    want += cat(k ? "," : "", dims[k].symbol ? "<=" : "", dims[k].extent);
  return refuse(call, cat("operand ", i, " of type ", type_name(type), want, "]"));
}

Status want_exact(const OpCall& call, size_t i, size_t axis) {
  if (!shape_of(call, i).dim(axis).symbol) return {};
  return refuse(call, cat("an exact extent on axis ", axis, " of operand ", i));
}

Result<size_t> axis_of(const OpCall& call, int64_t axis, size_t rank) {
  if (axis < 0 && axis >= -int64_t(rank)) return size_t(int64_t(rank) + axis);
  return refuse(call, cat("an axis in -", rank, " .. -1"), std::to_string(axis));
}

Result<std::vector<size_t>> axes_of(const OpCall& call, std::span<const int64_t> axes,
                                    size_t rank) {
  std::vector<size_t> out;
  for (const int64_t axis : axes) {
    FRL_LET(const size_t at, axis_of(call, axis, rank));
    if (std::find(out.begin(), out.end(), at) != out.end())
      return refuse(call, "each axis once", list_text(axes));
    out.push_back(at);
  }
  return out;
}

Result<std::vector<int64_t>> list_of(const OpCall& call, uint32_t slot, size_t n, int64_t fallback,
                                     int64_t lo, int64_t hi) {
  const std::vector<int64_t>& list = call.attributes.list(slot);
  if (list.empty()) return std::vector<int64_t>(n, fallback);
  const char* name = attribute_name(call, slot);
  if (list.size() != n) return refuse(call, cat(n, " values of ", name), list_text(list));
  for (const int64_t value : list)
    if (value < lo || value > hi)
      return refuse(call, cat(name, " in ", lo, " .. ", hi), list_text(list));
  return list;
}

const OpRow* activation_row(int64_t id) {
  const OpRow* row = id > 0 && id <= UINT32_MAX ? find_op(OpId(id)) : nullptr;
  const bool fits = row && row->infer == infer_pointwise && row->max_operands == 1 &&
                    (row->types & FRL_BIT(FRL_F32));
  return fits ? row : nullptr;
}

Result<TensorType> make_type(const OpCall& call, Type type, const Dims& dims) {
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) extents.push_back(dim.extent);
  auto shape = Shape::checked(extents);
  if (!shape.ok()) return std::move(shape).status().within(call.row.name);
  for (size_t i = 0; i < dims.size(); ++i) shape->set(i, dims[i]);
  return TensorType{type, *shape};
}

Types one_result(const OpCall& call, Type type, const Dims& dims) {
  FRL_LET(const TensorType result, make_type(call, type, dims));
  return std::vector<TensorType>{result};
}

}  // namespace ferrule
