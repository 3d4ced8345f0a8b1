// Scalar reference functions of POINTWISE ops.
#pragma once

#include "core/op/op.h"

namespace ferrule {

// Operands a and b (0 if there is one only) and the f64 attributes by slot.
using FloatFunction = double (*)(double a, double b, const double* p);

// Null for ops whose result is no float.
FloatFunction float_function(OpId op);

// The f64 attributes of a node by slot; defaults of the schema for `op`.
struct RealAttributes {
  double p[2] = {};
  explicit RealAttributes(const Attributes& attributes);
  explicit RealAttributes(OpId op) : RealAttributes(Attributes(op)) {}
};

}  // namespace ferrule
