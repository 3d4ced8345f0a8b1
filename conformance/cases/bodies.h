// Bodies of open kinds, made from the members that a claim allows.
#pragma once

#include "conformance/rig/graphs.h"

namespace ferrule::conformance {

// How an input reaches the region's shape.
enum class Spread : uint8_t { same, row, column, scalar, mixed };
const char* form_name(Spread form);

// Element types in which the claim's chains are tried.
std::vector<Type> member_types(const Claim& claim);

// Every function fails with not_claimed where the claim's members do not suffice.
class BodyMaker {
 public:
  BodyMaker(const Claim& claim, Type type);

  // n members one behind the other, of two operands every other time.
  Result<Graph> chain(size_t n, const Shape& shape) const;
  // A sum (or what there is) of n inputs.
  Result<Graph> inputs(size_t n, Spread form, const Shape& shape) const;
  // n results from one another.
  Result<Graph> results(size_t n, const Shape& shape) const;
  // One value with five users, an input with three.
  Result<Graph> many_users(const Shape& shape) const;
  Result<Graph> result_used_inside(const Shape& shape) const;
  Result<Graph> literal(const Shape& shape) const;
  // cast, comparison and select: three element types in one body.
  Result<Graph> types(const Shape& shape) const;
  // Members drawn by chance.
  Result<Graph> random(uint64_t seed, const Shape& shape) const;
  // A main op between `before` and `behind` pointwise members.
  Result<Graph> around(OpId main, size_t before, size_t behind) const;

 private:
  bool has(OpId op) const;
  OpId unary(size_t number) const;  // 0 if there is none for the type
  OpId binary(size_t number) const;
  Result<ValueId> grow(Graph& body, ValueId x, ValueId other, size_t number) const;

  const Claim& claim_;
  Type type_;
  std::vector<OpId> unary_, binary_;
};

}  // namespace ferrule::conformance
