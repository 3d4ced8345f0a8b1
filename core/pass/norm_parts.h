// What norms are written with.
#pragma once

#include "core/pass/match.h"

namespace ferrule {

// The slots of one mean: the sum, and what it is divided by or multiplied with.
struct MeanSlots {
  uint32_t sum, count, share;
};

// The mean of x, kept in slot `name`: a sum over a literal, or times one.
Pattern mean(Pattern x, uint32_t name, MeanSlots slots);

// Over how many trailing axes a matched mean is; 0, which no norm takes: it is no mean of these.
// Axes of one element do not matter. With `keep` the reduced axes stay, as the norm's operand needs
// them.
int64_t n_trailing(const Match& m, MeanSlots slots, bool keep = true);

Pattern root(Pattern x);
// 1 / sqrt(x), kept.
Pattern inverse_root(uint32_t name, Pattern x);

// The norm of `slot` with `factor` as the operand of this place: scale 1, shift 2. No value: the
// place is taken (a scale can't follow a shift), or there is no factor.
Result<ValueId> with_operand(Match& m, uint32_t slot, size_t place, ValueId factor);

}  // namespace ferrule
