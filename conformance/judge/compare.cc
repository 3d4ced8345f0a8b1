#include <cstring>

#include "conformance/judge/judge.h"
#include "conformance/judge/number.h"
#include "core/base/text.h"
#include "core/op/walk.h"

namespace ferrule::conformance {
namespace {

// How far off an element is, as a share of its bound: at most 1 is fine. NaN: not judged.
double share_of(double got, double want, double bound, double exact, const FloatFormat& format,
                uint32_t fp) {
  if (std::isinf(bound)) return NAN;
  if (std::isnan(want)) return std::isnan(got) ? 0.0 : kInfinite;
  if (std::isnan(got)) return kInfinite;
  if (std::isinf(want)) return got == want ? 0.0 : kInfinite;
  if (std::isinf(got)) {
    const bool may =
        std::fabs(want) + bound >= format.overflow() && std::signbit(got) == std::signbit(want);
    return may || got == exact ? 0.0 : kInfinite;
  }
  if (bound == 0 && got == exact) {
    const bool sign_lost =
        got == 0 && std::signbit(got) != std::signbit(exact) && !(fp & FRL_FP_LOSES_ZERO_SIGN);
    return sign_lost ? kInfinite : 0;
  }
  const double off = std::fabs(got - want);
  if (off == 0) return 0;
  return bound == 0 ? kInfinite : off / bound;
}

std::string place_text(const Shape& shape, int64_t i) {
  std::string out = "[";
  const Strides strides = row_major(shape);
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    out += cat(axis ? "," : "", i / strides[axis] % shape[axis]);
  return out + "]";
}

// What a class is called where it has to be kept whatever the bound.
const char* class_of(double v) {
  return std::isnan(v)     ? "NaN"
         : std::isinf(v)   ? v > 0 ? "+Inf" : "-Inf"
         : v != 0          ? "a number"
         : std::signbit(v) ? "-0"
                           : "+0";
}

bool differ_in_class(double a, double b) {
  return !std::isfinite(a) || !std::isfinite(b) || (a == 0 && b == 0);
}

// Of a float that failed: ", off by 3 ulp, bound 2 ulp", or what class was wanted.
std::string bound_text(const Tensor& got, const Expected& want, int64_t i) {
  const double g = got.at_f64(i), w = want.value[size_t(i)];
  if (differ_in_class(g, w))
    return cat(", bound class exact: want ", class_of(w), ", got ", class_of(g));
  const double ulp = format_of(got.element()).ulp(w);
  return cat(", off by ", number_text(std::fabs(g - w) / ulp), " ulp, bound ",
             number_text(want.bound[size_t(i)] / ulp), " ulp",
             want.terms.empty() ? "" : cat(", sum of |terms| ", number_text(want.terms.at_f64(i))));
}

std::string operands_of(const Expected& want, int64_t i) {
  const std::string text = want.operands ? want.operands(i) : std::string();
  return text.empty() ? text : cat(", operands ", text);
}

Outcome judge_integers(const Tensor& got, const Expected& want) {
  uint64_t judged = 0;
  const int64_t width = size_bytes(got.element());
  for (int64_t i = 0; i < got.n_elements(); ++i) {
    if (std::isinf(want.bound[size_t(i)])) continue;
    ++judged;
    if (std::memcmp(got.bytes().data() + i * width, want.exact.bytes().data() + i * width,
                    size_t(width)) == 0)
      continue;
    const auto byte = int(got.bytes()[size_t(i * width)]);
    const std::string text = got.element() == Type::boolean && byte > 1
                                 ? cat("a bool of byte ", byte)
                                 : element_text(got, i);
    return fail(cat("element ", place_text(got.shape(), i), ": want ", element_text(want.exact, i),
                    ", got ", text, ", bound exact", operands_of(want, i)));
  }
  return pass(judged);
}

}  // namespace

std::string element_text(const Tensor& tensor, int64_t i) {
  const Type type = tensor.element();
  if (type == Type::boolean) return tensor.at_i64(i) ? "true" : "false";
  if (type == Type::u64) return cat(uint64_t(tensor.as<uint64_t>()[size_t(i)]));
  if (!is_float(type)) return cat(tensor.at_i64(i));
  const double v = tensor.at_f64(i);
  return v == 0 && std::signbit(v) ? "-0" : number_text(v);
}

Outcome judge(const Tensor& got, const Expected& want, uint32_t fp) {
  if (got.type() != want.type)
    return fail(cat("result: want ", to_string(want.type), ", got ", to_string(got.type())));
  if (got.n_elements() == 0) return pass(1);  // the shape was compared
  if (!is_float(got.element())) return judge_integers(got, want);
  const FloatFormat format = format_of(got.element());
  uint64_t judged = 0;
  double worst = 0, farthest = 0;
  int64_t worst_at = -1;
  for (int64_t i = 0; i < got.n_elements(); ++i) {
    const double w = want.value[size_t(i)], g = got.at_f64(i);
    const double share = share_of(g, w, want.bound[size_t(i)], want.exact.at_f64(i), format, fp);
    if (std::isnan(share)) continue;
    ++judged;
    // Of elements that have no bound at all, the one that is farthest off.
    const double far = std::fabs(g - w) / format.ulp(std::isfinite(w) ? w : 0);
    if (worst_at >= 0 && !(share > worst || (share == worst && share > 1 && far > farthest)))
      continue;
    worst = share, farthest = far, worst_at = i;
  }
  if (worst <= 1) return pass(judged, worst);
  Outcome out = fail(cat("element ", place_text(got.shape(), worst_at), ": want ",
                         element_text(want.exact, worst_at), ", got ", element_text(got, worst_at),
                         bound_text(got, want, worst_at), operands_of(want, worst_at)));
  out.judged = judged, out.worst = std::min(worst, kNoShare);
  return out;
}

Outcome judge_pair(const Tensor& fused, const Tensor& unfused, const Expected& want_fused,
                   const Expected& want_unfused) {
  if (fused.type() != unfused.type())
    return fail(cat("fused against unfused: want ", to_string(unfused.type()), ", got ",
                    to_string(fused.type())));
  if (!is_float(fused.element())) {
    Expected want = want_fused;
    want.exact = unfused;
    for (size_t i = 0; i < want.bound.size(); ++i) want.bound[i] += want_unfused.bound[i];
    Outcome out = judge(fused, want, 0);
    if (!out.text.empty()) out.text = "fused against unfused: " + out.text;
    return out;
  }
  Expected want = want_fused;
  want.exact = unfused;
  for (size_t i = 0; i < want.bound.size(); ++i) {
    // Two correct results lie within both bounds, and both rounded bodies, of each other.
    const double apart = std::fabs(want_fused.value[i] - want_unfused.value[i]);
    want.value[i] = unfused.at_f64(int64_t(i));
    want.bound[i] += want_unfused.bound[i] + (std::isnan(apart) ? 0 : apart);
    if (want.bound[i] == 0) want.bound[i] = kLooseZero;
  }
  Outcome out = judge(fused, want, FRL_FP_LOSES_ZERO_SIGN);
  if (!out.text.empty()) out.text = "fused against unfused: " + out.text;
  return out;
}

}  // namespace ferrule::conformance
