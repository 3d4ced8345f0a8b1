// grid_sample and roi_align: images read between their pixels.
#include <algorithm>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

// ---- grid_sample ----

enum GridMode : int64_t { kBilinear, kNearest, kBicubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

struct GridAxis {
  int64_t n, padding;
  bool align_corners;

  double last() const { return static_cast<double>(n - 1); }
  double coordinate(double g) const {
    return align_corners ? (g + 1) / 2 * last() : ((g + 1) * static_cast<double>(n) - 1) / 2;
  }
  // Mirrored at the centres of the outer elements, or at their outer edges.
  double reflect(double x) const {
    const double low = align_corners ? 0 : -0.5,
                 span = align_corners ? last() : static_cast<double>(n);
    if (span == 0) return 0;
    const double away = std::fabs(x - low), rest = std::fmod(away, span);
    const bool back = std::fmod(std::floor(away / span), 2) != 0;
    return low + (back ? span - rest : rest);
  }
  double inside(double x) const {
    if (padding == kZeros || x != x) return x;
    return std::clamp(padding == kReflection ? reflect(x) : x, 0.0, last());
  }
  // The element that an integral place reads; -1: a zero.
  int64_t element(double place) const {
    const double x = inside(place);
    return x >= 0 && x <= last() ? static_cast<int64_t>(x) : -1;
  }
};

// Up to four neighbours along an axis, with their weights.
struct Neighbours {
  double first;
  int n;
  double weight[4];
};
Neighbours neighbours_at(double x, int64_t mode) {
  if (mode == kNearest) return {std::nearbyint(x), 1, {1}};
  const double left = std::floor(x), t = x - left;
  if (mode == kBilinear) return {left, 2, {1 - t, t}};
  constexpr double a = -0.75;  // of Keys' cubic convolution
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {left - 1, 4, {far(1 + t), near(t), near(1 - t), far(2 - t)}};
}

template <class T>
double sample(const T* image, const GridAxis& v, const GridAxis& h, int64_t mode, double gx,
              double gy) {
  double x = h.coordinate(gx), y = v.coordinate(gy);
  // Bicubic neighbours are moved inside one by one, the others by where the sample lies.
  if (mode != kBicubic) x = h.inside(x), y = v.inside(y);
  if (x != x || y != y) return NAN;
  const Neighbours nx = neighbours_at(x, mode), ny = neighbours_at(y, mode);
  double sum = 0;
  for (int i = 0; i < ny.n; ++i)
    for (int k = 0; k < nx.n; ++k) {
      const double weight = ny.weight[i] * nx.weight[k];
      if (weight == 0) continue;
      if (weight != weight) return v.padding == kZeros ? 0 : NAN;  // an infinite place
      const int64_t row = v.element(ny.first + i), column = h.element(nx.first + k);
      if (row >= 0 && column >= 0) sum += weight * static_cast<double>(image[row * h.n + column]);
    }
  return sum;
}

// ---- roi_align ----

struct RoiAxis {
  double start, bin;  // of the region, and the extent of one result element
  int64_t samples;    // in each bin
  double place(int64_t i, int64_t k) const {
    return start + static_cast<double>(i) * bin +
           (static_cast<double>(k) + 0.5) * bin / static_cast<double>(samples);
  }
};
struct RoiRule {
  int64_t height, width, ratio;
  bool is_max, half_pixel;
  double scale;

  RoiAxis axis(double from, double to, int64_t size, int64_t n) const {
    const double shift = half_pixel ? 0.5 : 0, begin = from * scale - shift;
    double extent = to * scale - shift - begin;
    if (!half_pixel) extent = std::max(extent, 1.0);
    const double bin = extent / static_cast<double>(size);
    const double samples = ratio ? static_cast<double>(ratio) : std::ceil(bin);
    if (!std::isfinite(begin) || !(ratio || samples <= 4 * static_cast<double>(n) + 16))
      throw frl::Failure(FRL_INVALID, "roi_align: want a region about as large as the image, got " +
                                          std::to_string(from) + " to " + std::to_string(to));
    return {begin, bin, static_cast<int64_t>(std::max(samples, 0.0))};
  }
};

template <class T>
struct Image {
  const T* pixels;
  int64_t h, w;
  double at(int64_t y, int64_t x) const { return static_cast<double>(pixels[y * w + x]); }
};

// fn(weighted pixel) for the four around a place; false if the place is more than one pixel
// outside.
template <class T, class Fn>
bool corners(const Image<T>& image, double y, double x, Fn&& fn) {
  const double h = static_cast<double>(image.h), w = static_cast<double>(image.w);
  if (!(y >= -1 && y <= h && x >= -1 && x <= w)) return false;
  y = std::clamp(y, 0.0, h - 1), x = std::clamp(x, 0.0, w - 1);
  const int64_t top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t below = std::min(top + 1, image.h - 1), right = std::min(left + 1, image.w - 1);
  const double v = y - static_cast<double>(top), u = x - static_cast<double>(left);
  fn((1 - v) * (1 - u) * image.at(top, left)), fn((1 - v) * u * image.at(top, right));
  fn(v * (1 - u) * image.at(below, left)), fn(v * u * image.at(below, right));
  return true;
}

template <class T>
double align(const Image<T>& image, const RoiAxis& v, const RoiAxis& h, int64_t row, int64_t column,
             bool is_max) {
  double sum = 0, most = -INFINITY;
  const auto take = [&](double x) {
    sum += x;
    most = most > x || most != most ? most : x;
  };
  for (int64_t i = 0; i < v.samples; ++i)
    for (int64_t k = 0; k < h.samples; ++k)
      if (!corners(image, v.place(row, i), h.place(column, k), take)) take(0);
  const int64_t n = v.samples * h.samples;
  if (n == 0) return 0;
  return is_max ? most : sum / static_cast<double>(n);
}

}  // namespace

KernelPtr make_grid_sample(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), grid = request.operand(1), y = request.result(0);
  const int64_t mode = request.attribute_i(FRL_AT_grid_sample_mode),
                padding = request.attribute_i(FRL_AT_grid_sample_padding);
  const bool align_corners = request.attribute_i(FRL_AT_grid_sample_align_corners) != 0;
  const GridAxis v{x.value.extent(-2), padding, align_corners},
      h{x.value.extent(-1), padding, align_corners};
  const int64_t channels = y.value.extents[1], area = y.value.extent(-1) * y.value.extent(-2),
                n = y.value.n_elements();
  return with_float(y.value.type, [&]<class T>(T) {
    return make_kernel(
        [=, from = Place(x), places = Place(grid), to = Place(y)](const frl::Call& call) {
          if (n == 0) return;
          if (v.n == 0 || h.n == 0) return std::fill_n(to.out<T>(call), n, T{0}), void();
          frl::for_slices(call.host, n, 60, 0, [&](int64_t begin, int64_t end, void*) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t plane = i / area;
              const T* g = places.in<T>(call) + (plane / channels * area + i % area) * 2;
              to.out<T>(call)[i] =
                  static_cast<T>(sample(from.in<T>(call) + plane * v.n * h.n, v, h, mode,
                                        static_cast<double>(g[0]), static_cast<double>(g[1])));
            }
          });
        });
  });
}

KernelPtr make_roi_align(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), rois = request.operand(1), batch = request.operand(2),
                     y = request.result(0);
  const RoiRule rule{request.attribute_i(FRL_AT_roi_align_height),
                     request.attribute_i(FRL_AT_roi_align_width),
                     request.attribute_i(FRL_AT_roi_align_sampling_ratio),
                     request.attribute_i(FRL_AT_roi_align_by) == FRL_OP_max,
                     request.attribute_i(FRL_AT_roi_align_half_pixel) != 0,
                     request.attribute_f(FRL_AT_roi_align_spatial_scale)};
  return with_float(y.value.type, [&]<class T>(T) {
    return make_kernel([=, v = x.value, n = y.value.n_elements(), n_rois = y.value.extents[0],
                        from = Place(x), boxes = Place(rois), images = Place(batch),
                        to = Place(y)](const frl::Call& call) {
      if (n == 0) return;
      if (v.extent(-1) == 0 || v.extent(-2) == 0)
        return std::fill_n(to.out<T>(call), n, T{0}), void();
      const int64_t channels = v.extents[1], area = rule.height * rule.width;
      frl::for_slices(call.host, n_rois, static_cast<double>(channels * area) * 100, 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t r = begin; r < end; ++r) {
                          const int64_t image = images.in<int64_t>(call)[r];
                          if (image < 0 || image >= v.extents[0])
                            throw frl::Failure(FRL_INVALID, "roi_align: want batch indices below " +
                                                                std::to_string(v.extents[0]) +
                                                                ", got " + std::to_string(image));
                          const T* box = boxes.in<T>(call) + r * 4;
                          const auto at = [&](int k) { return static_cast<double>(box[k]); };
                          const RoiAxis h = rule.axis(at(0), at(2), rule.width, v.extent(-1)),
                                        w = rule.axis(at(1), at(3), rule.height, v.extent(-2));
                          for (int64_t c = 0; c < channels; ++c) {
                            const Image<T> plane{from.in<T>(call) + (image * channels + c) *
                                                                        v.extent(-1) * v.extent(-2),
                                                 v.extent(-2), v.extent(-1)};
                            for (int64_t i = 0; i < area; ++i)
                              to.out<T>(call)[(r * channels + c) * area + i] = static_cast<T>(
                                  align(plane, w, h, i / rule.width, i % rule.width, rule.is_max));
                          }
                        }
                      });
    });
  });
}

}  // namespace cpu
