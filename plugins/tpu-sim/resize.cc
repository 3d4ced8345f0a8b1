// Resize: each element of the result is a sum over its neighbours in the operand, whose places and
// weights the scalar unit works out axis by axis.
#include <algorithm>
#include <cmath>

#include "plugins/tpu-sim/emit.h"
#include "plugins/tpu-sim/stored.h"

namespace tpu_sim {
namespace {

enum Mode : int64_t { kNearest, kLinear, kCubic };
enum Coordinate : int64_t { kHalf, kHalfOrFirst, kCorners, kAsymmetric, kCropped, kSymmetric };
constexpr int64_t kMostTaps[] = {1, 2, 4};
constexpr int64_t kTileElements = 16 * 1024;

struct Neighbour {
  int64_t place;
  double weight;
};
using Neighbours = std::vector<Neighbour>;

// ONNX Resize, attribute coordinate_transformation_mode: place i of `size` among `n` elements.
double place_of(const Sample& s, double i, double n, double size, double scale) {
  switch (s.coordinate) {
    case kCorners:
      return size > 1 ? i * (n - 1) / (size - 1) : 0;
    case kAsymmetric:
      return i / scale;
    case kHalfOrFirst:
      if (size <= 1) return 0;
      break;
    case kSymmetric: {  // what rounding the size took away is shared by both ends
      const double lost = n * (1 - size / (scale * n)) / 2;
      return lost + (i + 0.5) / scale - 0.5;
    }
    default:
      break;
  }
  return (i + 0.5) / scale - 0.5;
}

double rounded(double x, int64_t how) {
  constexpr int64_t kHalfDown = 0, kHalfUp = 1, kDown = 2;
  if (how == kHalfDown) return std::ceil(x - 0.5);
  if (how == kHalfUp) return std::floor(x + 0.5);
  return how == kDown ? std::floor(x) : std::ceil(x);
}

// Keys' cubic convolution with its free parameter; the triangle for linear.
double kernel_at(const Sample& s, double x) {
  const double d = std::fabs(x), a = s.cubic_a;
  if (s.mode == kLinear) return std::max(1 - d, 0.0);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
}

Neighbours neighbours_of(const Sample& s, int64_t i, int64_t n, int64_t size, double scale) {
  const double x = place_of(s, double(i), double(n), double(size), scale), last = double(n - 1);
  const auto inside = [&](double p) { return static_cast<int64_t>(std::clamp(p, 0.0, last)); };
  if (s.mode == kNearest) return {{inside(rounded(x, s.nearest)), 1}};
  Neighbours out;
  const int64_t half = kMostTaps[s.mode] / 2;
  double total = 0;
  for (int64_t t = 0; t < 2 * half; ++t) {
    const double p = std::ceil(x) - double(half) + double(t);
    if (s.excludes && (p < 0 || p > last)) continue;
    const double w = kernel_at(s, p - x);
    if (w == 0) continue;
    total += w;
    out.push_back({inside(p), w});
  }
  for (Neighbour& each : out) each.weight /= total;
  return out;
}

// All neighbours of all axes.
std::vector<std::vector<Neighbours>> tables(const Sample& s, const Window& x,
                                            const double* scales) {
  std::vector<std::vector<Neighbours>> out(x.rank);
  for (uint32_t d = 0; d < x.rank; ++d) {
    constexpr double kLeast = 1e-9, kMost = 1e9;
    if (!(scales[d] >= kLeast && scales[d] <= kMost))
      throw frl::Failure(FRL_INVALID, "resize: want scales of about size over extent, got " +
                                          std::to_string(scales[d]) + " on axis " +
                                          std::to_string(d));
    for (int64_t i = 0; i < s.sizes[d]; ++i)
      out[d].push_back(neighbours_of(s, i, x.extents[d], s.sizes[d], scales[d]));
  }
  return out;
}

// Adds up what lies under the axes from d on.
template <class T>
double sum_from(const T* x, const Window& w, const std::vector<const Neighbours*>& at, uint32_t d) {
  if (d == w.rank) return as_float(*x);
  double sum = 0;
  bool first = true;  // a lone neighbour keeps the sign of zero
  for (const Neighbour& each : *at[d]) {
    const double part = each.weight * sum_from(x + each.place * w.strides[d], w, at, d + 1);
    sum = first ? part : sum + part;
    first = false;
  }
  return sum;
}

}  // namespace

int64_t taps_of(const Sample& s) {
  int64_t taps = 1;
  for (uint32_t d = 0; d < s.rank; ++d)
    if (s.resized >> d & 1) taps *= kMostTaps[s.mode];
  return taps;
}

void run_sample(const Sample& s, const Window& x, const std::byte* from, const double* scales,
                float* to) {
  const auto table = tables(s, x, scales);
  std::vector<const Neighbours*> at(x.rank);
  with_stored(x.type, [&]<class T>(T) {
    for (int64_t i = 0; i < s.n; ++i) {
      int64_t rest = s.begin + i;
      for (uint32_t d = x.rank; d-- > 0; rest /= s.sizes[d])
        at[d] = &table[d][static_cast<size_t>(rest % s.sizes[d])];
      to[i] = static_cast<float>(sum_from(reinterpret_cast<const T*>(from), x, at, 0));
    }
  });
}

void lower_resize(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), y = region.result(0);
  const int64_t n = y.value.n_elements();
  if (n == 0) return;
  if (x.value.n_elements() == 0)
    throw frl::Failure(FRL_NO_SHAPE, "resize: want elements to take from, got none");
  Sample s{};
  s.window = out.window(out.window_of(x)), s.scales = out.window(out.window_of(region.operand(1)));
  s.mode = region.attribute_i(FRL_AT_resize_mode);
  s.coordinate = region.attribute_i(FRL_AT_resize_coordinate);
  s.nearest = region.attribute_i(FRL_AT_resize_nearest);
  s.cubic_a = region.attribute_f(FRL_AT_resize_cubic_a);
  s.excludes = region.attribute_i(FRL_AT_resize_exclude_outside) != 0;
  s.rank = y.value.rank, s.sizes = y.value.extents;
  for (uint32_t d = 0; d < s.rank; ++d)
    if (x.value.extents[d] != y.value.extents[d]) s.resized |= 1u << d;
  Window flat = out.window_of(y);
  flat.rank = 1, flat.extents = {n}, flat.strides = {1};
  const int64_t most =
      std::min({kTileElements, n, out.free_words() / 2 / kBufferWords * kBufferWords});
  const Pair block = out.pair(most);
  const WindowId to = out.window(flat);
  for (int64_t begin = 0, turn = 0; begin < n; begin += most, ++turn) {
    s.to = block[turn], s.begin = begin, s.n = std::min(most, n - begin);
    out.emit(s);
    out.emit(Store{s.to, to, 0, begin, s.n});
  }
}

}  // namespace tpu_sim
