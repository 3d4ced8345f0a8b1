// What the two sides of the text form share.
#pragma once

#include "core/op/op.h"

namespace ferrule {

// Tensors of more elements are written as a hash.
constexpr int64_t kMostElementsInText = 64;

enum class TextMeaning { number, type, op };
TextMeaning text_meaning(const AttributeRow& row);

}  // namespace ferrule
