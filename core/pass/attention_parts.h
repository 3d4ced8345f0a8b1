// Keys and masks of attention that is written out.
#pragma once

#include "core/graph/graph.h"

namespace ferrule {

// True for a transpose that swaps the last two axes and no others.
bool swaps_last(const Node& node);

// What `id` is the transpose of, in its last two axes; no value: it is not written as one. Leading
// axes may be joined or split behind the transpose.
Result<ValueId> transposed(Graph& graph, ValueId id);

struct Mask {
  // As the attribute of the kind counts them; `other`: the kind cannot say it.
  enum Kind : int64_t { none, causal, additive, boolean, other } kind = none;
  ValueId operand = kNoValue;
};

// True if scores of up to 32 vanish beside `fill`: fill + 32 == fill in the type in which the kind
// computes (f64, else f32). Holds for the lowest number and -1e9, not for -1e4.
bool absorbs(double fill, Type type);

// Scores where `condition` holds (keeps) or where it does not, elsewhere the literal `fill`.
//
// Only -inf is a boolean mask. A filling that absorbs is added instead: equal to the last digit in
// every row that sees a key, and in others while scores are below 32. What does not absorb is
// `other`.
Result<Mask> filled_mask(Graph& graph, ValueId condition, bool keeps, ValueId fill);

}  // namespace ferrule
