// Attributes of a node: one slot for each row of the op's schema (FRL_ATTR in frl_ops.def).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin-api/frl_plugin.h"

namespace ferrule {

using OpId = uint32_t;

enum class AttributeKind : uint8_t { integer, real, text, list };

struct AttributeRow {
  OpId op;
  uint32_t slot;
  const char* name;
  AttributeKind kind;
  double fallback;  // of integer and real
};

struct Attribute {
  int64_t i = 0;
  double f = 0;
  std::string text;
  std::vector<int64_t> list;
  // Reals are compared by bits: two NaNs are equal, 0 and -0 are not.
  bool operator==(const Attribute& other) const;
};

// Always as long as the schema, defaults filled in, so two equal nodes have equal attributes.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(OpId op);  // all at their defaults

  size_t size() const { return slots_.size(); }
  const Attribute& operator[](size_t slot) const { return slots_[slot]; }
  int64_t i(uint32_t slot) const { return slots_[slot].i; }
  double f(uint32_t slot) const { return slots_[slot].f; }
  const std::vector<int64_t>& list(uint32_t slot) const { return slots_[slot].list; }

  // Each returns *this: Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, -2)
  Attributes& set_i(uint32_t slot, int64_t value) & { return slots_[slot].i = value, *this; }
  Attributes& set_f(uint32_t slot, double value) & { return slots_[slot].f = value, *this; }
  Attributes& set_list(uint32_t slot, std::vector<int64_t> value) & {
    return slots_[slot].list = std::move(value), *this;
  }
  Attributes&& set_i(uint32_t slot, int64_t value) && { return std::move(set_i(slot, value)); }
  Attributes&& set_f(uint32_t slot, double value) && { return std::move(set_f(slot, value)); }
  Attributes&& set_list(uint32_t slot, std::vector<int64_t> value) && {
    return std::move(set_list(slot, std::move(value)));
  }
  Attribute& slot(uint32_t number) { return slots_[number]; }

  bool operator==(const Attributes&) const = default;

 private:
  std::vector<Attribute> slots_;
};

}  // namespace ferrule
