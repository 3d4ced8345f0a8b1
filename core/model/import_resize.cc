// Resampling ops.
#include <cmath>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

struct Resize {
  std::vector<double> scales;  // by axis of x
  Ints sizes;
  int64_t mode = 0, coordinate = 3,
          nearest = 2;         // asymmetric, floor: all there was before opset 11
  std::vector<double> region;  // starts, then ends
};

void emit_resize(ModelNode& n, Val x, const Resize& r) {
  for (const double scale : r.scales)
    if (!(scale > 0) || std::isinf(scale))
      return n.fail(cat("scales: want finite ones above 0, got ", scale));
  for (const int64_t size : r.sizes)
    if (size < 0 || size > INT32_MAX)
      return n.fail(cat("want extents from 0 to 2^31 - 1, got ", size));
  if (n.failed()) return;
  Attributes attributes(FRL_OP_resize);
  attributes.set_list(FRL_AT_resize_sizes, r.sizes).set_i(FRL_AT_resize_mode, r.mode);
  attributes.set_i(FRL_AT_resize_coordinate, r.coordinate).set_i(FRL_AT_resize_nearest, r.nearest);
  attributes.set_f(FRL_AT_resize_cubic_a, n.f("cubic_coeff_a", -0.75));
  attributes.set_i(FRL_AT_resize_exclude_outside, n.i("exclude_outside", 0) != 0);
  attributes.set_f(FRL_AT_resize_extrapolation, n.f("extrapolation_value", 0));
  attributes.set_i(FRL_AT_resize_antialias, n.i("antialias", 0) != 0);
  std::vector<Val> operands = {x, n.block().literal(Tensor::of_f64(r.scales))};
  if (!r.region.empty()) operands.push_back(n.block().literal(Tensor::of_f64(r.region)));
  n.out(0, n.block().emit(FRL_OP_resize, attributes, operands));
}

// Extents from scales: the part of the operand that the region covers, times the scale, rounded
// down.
void size_from_scales(Val x, Resize& r) {
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto i = size_t(axis);
    const double covered = r.region.empty() ? 1 : r.region[i + size_t(x.rank())] - r.region[i];
    const double size = std::floor(double(x.dim(axis)) * covered * r.scales[i]);
    r.sizes.push_back(size >= 0 && size <= INT32_MAX ? int64_t(size) : -1);
  }
}

std::vector<double> known_reals(ModelNode& n, size_t i) {
  std::vector<double> out;
  const Tensor tensor = n.known(i);
  for (int64_t k = 0; !tensor.empty() && k < tensor.n_elements(); ++k)
    out.push_back(tensor.at_f64(k));
  return out;
}

void upsample(ModelNode& n) {
  static constexpr const char* kModes[] = {"nearest", "linear", "bilinear"};
  const Val x = n.in(0);
  Resize r;
  r.mode = n.choice("mode", "nearest", kModes) != 0;
  if (n.row().arg) {
    r.scales = known_reals(n, 1);
  } else if (n.opset() < 7) {
    r.scales = {1, 1, n.f("height_scale", 1), n.f("width_scale", 1)};
  } else {
    r.scales = n.reals("scales");
  }
  if (!n.want(int64_t(r.scales.size()) == x.rank(), "a scale for each axis")) return;
  size_from_scales(x, r);
  emit_resize(n, x, r);
}

// tf_half_pixel_for_nn is half_pixel without its last step, which two ways of rounding make up for.
constexpr int64_t kTfHalfPixel = 6;
void adapt_tf_half_pixel(ModelNode& n, Resize& r) {
  enum Nearest : int64_t { kPreferFloor, kPreferCeil, kFloor, kCeil };
  if (r.coordinate != kTfHalfPixel) return;
  if (r.mode != 0 || (r.nearest != kPreferFloor && r.nearest != kFloor))
    return n.unsupported("tf_half_pixel_for_nn with this mode");
  r.nearest = r.nearest == kFloor ? kPreferCeil : kCeil;
  r.coordinate = 0;
}

// Spreads what is given for `axes` over all axes of x.
template <class T>
std::vector<T> spread(const std::vector<T>& given, const Ints& axes, std::vector<T> all) {
  for (size_t i = 0; i < axes.size(); ++i) all[size_t(axes[i])] = given[i];
  return all;
}

void sizes_given(ModelNode& n, Val x, const Ints& axes, const Ints& sizes, Resize& r) {
  static constexpr const char* kPolicies[] = {"stretch", "not_larger", "not_smaller"};
  const int64_t policy = n.choice("keep_aspect_ratio_policy", "stretch", kPolicies);
  for (size_t i = 0; i < axes.size(); ++i)
    if (sizes[i] < 0 || (sizes[i] == 0 && x.dim(axes[i]) > 0))
      return n.fail(cat("sizes: want 1 or more, got ", sizes[i]));
  r.sizes = spread(sizes, axes, x.dims());
  const auto ratio = [&](int64_t axis) {
    return double(r.sizes[size_t(axis)]) / double(x.dim(axis));
  };
  if (policy != 0) {
    double scale = policy == 1 ? INFINITY : 0;
    for (const int64_t axis : axes)
      scale = policy == 1 ? std::fmin(scale, ratio(axis)) : std::fmax(scale, ratio(axis));
    for (const int64_t axis : axes)
      r.sizes[size_t(axis)] = int64_t(std::fmin(std::round(scale * double(x.dim(axis))), 1e10));
    for (const int64_t axis : axes) r.scales[size_t(axis)] = scale;
    return;
  }
  for (const int64_t axis : axes)
    if (x.dim(axis) > 0) r.scales[size_t(axis)] = ratio(axis);
}

void resize(ModelNode& n) {
  static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  static constexpr const char* kCoordinates[] = {
      "half_pixel",         "pytorch_half_pixel",   "align_corners",       "asymmetric",
      "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
  static constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                             "ceil"};
  const Val x = n.in(0);
  Resize r;
  r.mode = n.choice("mode", "nearest", kModes);
  r.coordinate = n.choice("coordinate_transformation_mode", "half_pixel", kCoordinates);
  r.nearest = n.choice("nearest_mode", "round_prefer_floor", kNearest);
  adapt_tf_half_pixel(n, r);
  const Ints axes =
      n.has_attribute("axes") ? n.axes(n.ints("axes"), x.rank()) : axes_between(0, x.rank());
  const auto rank = size_t(x.rank());
  if (r.coordinate == 4) {
    const std::vector<double> given = n.has(1) ? known_reals(n, 1) : std::vector<double>();
    if (!n.want(given.size() == 2 * axes.size(), "a region of starts and ends")) return;
    r.region.assign(rank, 0), r.region.resize(2 * rank, 1);
    for (const double each : given)
      if (!std::isfinite(each)) return n.fail(cat("roi: want finite numbers, got ", each));
    for (size_t i = 0; i < axes.size(); ++i) {
      r.region[size_t(axes[i])] = given[i];
      r.region[size_t(axes[i]) + rank] = given[i + axes.size()];
    }
  }
  // Either may be there and empty.
  const std::vector<double> scales =
      n.has(2) && n.in(2).n_elements() > 0 ? known_reals(n, 2) : std::vector<double>();
  const Ints sizes = n.has(3) && n.in(3).n_elements() > 0 ? n.known_ints(3) : Ints();
  if (n.failed()) return;
  r.scales.assign(rank, 1);
  if (!sizes.empty()) {
    if (!scales.empty()) return n.fail("want scales or sizes, got both");
    if (!n.want(sizes.size() == axes.size(), "a size for each axis")) return;
    sizes_given(n, x, axes, sizes, r);
  } else {
    if (!n.want(scales.size() == axes.size(), "a scale for each axis")) return;
    r.scales = spread(scales, axes, r.scales);
    size_from_scales(x, r);
  }
  emit_resize(n, x, r);
}

void grid_sample(ModelNode& n) {
  static constexpr const char* kModes[] = {"bilinear", "nearest", "bicubic",
                                           "linear",   "nearest", "cubic"};
  static constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  Attributes attributes(FRL_OP_grid_sample);
  attributes.set_i(FRL_AT_grid_sample_mode,
                   n.choice("mode", n.opset() < 20 ? "bilinear" : "linear", kModes) % 3);
  attributes.set_i(FRL_AT_grid_sample_padding, n.choice("padding_mode", "zeros", kPaddings));
  attributes.set_i(FRL_AT_grid_sample_align_corners, n.i("align_corners", 0) != 0);
  n.out(0, n.block().emit(FRL_OP_grid_sample, attributes, {n.in(0), n.in(1)}));
}

// Every place of the result in -1 .. 1, times theta: [n, places, axes].
void affine_grid(ModelNode& n) {
  const Val theta = n.in(0);
  const Ints size = n.known_ints(1);
  const bool corners = n.i("align_corners", 0) != 0;
  const auto axes = int64_t(size.size()) - 2;
  const bool fits = (axes == 2 || axes == 3) && theta.rank() == 3 && theta.dim(0) == size[0] &&
                    theta.dim(1) == axes && theta.dim(2) == axes + 1;
  if (!n.want(fits, "theta [n, axes, axes + 1] and a size [n, c, spatial..]")) return;
  int64_t places = 1;
  for (int64_t i = 0; i < axes; ++i)
    if (size[size_t(i) + 2] < 0 || !checked_mul(places, size[size_t(i) + 2], &places) ||
        places > INT32_MAX)
      return n.fail("size: want fewer than 2^31 places", Code::out_of_limits);
  if (!n.block().may_make(places * (axes + 1) * size_bytes(theta.element()))) return;
  Tensor base(TensorType{theta.element(), Shape{places, axes + 1}});
  for (int64_t at = 0; at < places; ++at) {
    int64_t rest = at;
    for (int64_t i = 0; i < axes; ++i) {  // innermost first: x, y, z
      const int64_t extent = size[size_t(axes + 1 - i)], step = rest % extent;
      rest /= extent;
      const double along = corners ? (extent > 1 ? 2.0 * double(step) / double(extent - 1) - 1 : 0)
                                   : (2.0 * double(step) + 1) / double(extent) - 1;
      base.set_f64(at * (axes + 1) + i, along);
    }
    base.set_f64(at * (axes + 1) + axes, 1);
  }
  Ints dims = {size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(axes);
  n.out(0, reshape(matmul(n.block().made(std::move(base), n.out_name(0)), swap_last(theta)), dims));
}

void roi_align(ModelNode& n) {
  static constexpr const char* kModes[] = {"avg", "max"};
  static constexpr const char* kCoordinates[] = {"output_half_pixel", "half_pixel"};
  Attributes attributes(FRL_OP_roi_align);
  attributes.set_i(FRL_AT_roi_align_height, n.i("output_height", 1))
      .set_i(FRL_AT_roi_align_width, n.i("output_width", 1));
  attributes.set_i(FRL_AT_roi_align_sampling_ratio, n.i("sampling_ratio", 0));
  attributes.set_i(FRL_AT_roi_align_by, n.choice("mode", "avg", kModes) ? FRL_OP_max : FRL_OP_add);
  attributes.set_f(FRL_AT_roi_align_spatial_scale, n.f("spatial_scale", 1));
  const char* fallback = n.opset() < 16 ? "output_half_pixel" : "half_pixel";
  attributes.set_i(FRL_AT_roi_align_half_pixel,
                   n.choice("coordinate_transformation_mode", fallback, kCoordinates));
  n.out(0,
        n.block().emit(FRL_OP_roi_align, attributes, {n.in(0), n.in(1), cast(n.in(2), Type::i64)}));
}

constexpr ImportRow kRows[] = {
    {"", "Upsample", 1, 8, upsample, "1>1", "mode scales height_scale width_scale"},
    {"", "Upsample", 9, 9, upsample, "2>1", "mode", 1},
    {"", "Resize", 10, 10, upsample, "2>1", "mode", 1},
    {"", "Resize", 11, kEver, resize, "3..4>1 13:1..4>1",
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode"},
    {"", "GridSample", 16, kEver, grid_sample, "2>1", "align_corners mode padding_mode"},
    {"", "AffineGrid", 20, kEver, affine_grid, "2>1", "align_corners"},
    {"", "RoiAlign", 10, kEver, roi_align, "3>1",
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
};

}  // namespace

std::span<const ImportRow> resize_rows() { return kRows; }

}  // namespace ferrule
