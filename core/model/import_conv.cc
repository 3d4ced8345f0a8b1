// Convolutions and pools.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

constexpr int64_t kMostWindow = INT32_MAX;

// An attribute over `n_axes` axes, times `per_axis`; `fallback` everywhere if it is not there.
Ints axes_attribute(ModelNode& n, const char* name, size_t n_axes, int64_t fallback, int64_t least,
                    size_t per_axis = 1) {
  Ints out = n.ints(name);
  if (!n.has_attribute(name)) out.assign(n_axes * per_axis, fallback);
  bool fits = out.size() == n_axes * per_axis;
  for (const int64_t each : out) fits &= each >= least && each <= kMostWindow;
  if (!fits)
    n.fail(cat("attribute '", name, "': want ", n_axes * per_axis, " numbers from ", least,
               " to 2^31 - 1"));
  if (!fits) out.assign(n_axes * per_axis, fallback);
  return out;
}

Ints spatial(Val x) {
  const Ints dims = x.dims();
  return dims.size() > 2 ? Ints(dims.begin() + 2, dims.end()) : Ints();
}

constexpr const char* kAutoPads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
enum AutoPad : int64_t { kNotSet, kSameUpper, kSameLower, kValid };

// Half of a total goes to each end; the odd one to the end (upper) or the begin.
void share(int64_t total, bool upper, int64_t* begin, int64_t* end) {
  *begin = upper ? total / 2 : total - total / 2;
  *end = total - *begin;
}

// strides, dilations, pads and auto_pad over the spatial axes of x [n, c, spatial..]. A node that
// fails gives lists of ones and zeros.
struct Window {
  Ints kernel, strides, dilations, pads;  // pads: begins, then ends
  size_t n_axes() const { return kernel.size(); }
  // How far the kernel reaches along an axis.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

// `kernel` empty: the attribute kernel_shape.
Window window_of(ModelNode& n, Val x, Ints kernel = {}) {
  Window w;
  const size_t axes = size_t(std::max<int64_t>(x.rank() - 2, 0));
  bool fits = axes > 0;
  for (const int64_t extent : spatial(x)) fits &= extent <= kMostWindow;
  n.want(fits, "[n, c, spatial..]");
  w.kernel = axes_attribute(n, "kernel_shape", axes, 1, 1);
  if (!kernel.empty()) {
    if (n.has_attribute("kernel_shape") && w.kernel != kernel)
      n.fail("kernel_shape: want the extents of the weights");
    w.kernel = std::move(kernel);
  } else if (!n.has_attribute("kernel_shape")) {
    n.fail("want attribute 'kernel_shape', got nothing");
  }
  if (w.kernel.size() != axes)
    n.fail(cat("weights: want ", axes, " spatial axes, got ", w.kernel.size()));
  if (n.failed()) w.kernel.assign(axes, 1);
  w.strides = axes_attribute(n, "strides", axes, 1, 1);
  w.dilations = axes_attribute(n, "dilations", axes, 1, 1);
  w.pads = axes_attribute(n, "pads", axes, 0, 0, 2);
  const int64_t auto_pad = n.choice("auto_pad", "NOTSET", kAutoPads);
  if (auto_pad == kValid) w.pads.assign(2 * axes, 0);
  for (size_t i = 0; i < axes && (auto_pad == kSameUpper || auto_pad == kSameLower); ++i) {
    const int64_t extent = x.dim(int64_t(i) + 2),
                  result = (extent + w.strides[i] - 1) / w.strides[i];
    const int64_t total = std::max<int64_t>((result - 1) * w.strides[i] + w.reach(i) - extent, 0);
    share(total, auto_pad == kSameUpper, &w.pads[i], &w.pads[axes + i]);
  }
  return w;
}

// Their slots stand in this order wherever they are.
Attributes window_attributes(OpId op, uint32_t strides, const Window& w) {
  Attributes out(op);
  out.set_list(strides, w.strides).set_list(strides + 1, w.dilations).set_list(strides + 2, w.pads);
  return out;
}

Attributes conv_attributes(ModelNode& n, const Window& w) {
  return window_attributes(FRL_OP_conv, FRL_AT_conv_strides, w)
      .set_i(FRL_AT_conv_groups, n.i("group", 1));
}

void conv(ModelNode& n) {
  const Val x = n.in(0), w = n.in(1);
  const Window window = window_of(n, x, spatial(w));
  n.out(0, n.block().emit(FRL_OP_conv, conv_attributes(n, window), {x, w, n.maybe(2)}));
}

// Integers with their zero points taken off; a padded place is then 0, as it must be.
Val without_zero(ModelNode& n, Val x, size_t i, int64_t axis) {
  const Val wide = cast(x, Type::i32);
  if (!n.has(i)) return wide;
  const Val zero = cast(n.in(i), Type::i32);
  return wide - (zero.n_elements() == 1 ? reshape(zero, {}) : align(zero, axis, x.rank()));
}

void conv_integer(ModelNode& n) {
  const Val x = n.in(0), w = n.in(1);
  const Window window = window_of(n, x, spatial(w));
  n.out(0, n.block().emit(FRL_OP_conv, conv_attributes(n, window),
                          {without_zero(n, x, 2, 1), without_zero(n, w, 3, 0)}));
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias in units of x_scale * w_scale
void qlinear_conv(ModelNode& n) {
  const Val x = n.in(0), w = n.in(3), y_zero = n.in(7);
  const Window window = window_of(n, x, spatial(w));
  const Val sum = n.block().emit(FRL_OP_conv, conv_attributes(n, window),
                                 {without_zero(n, x, 2, 1), without_zero(n, w, 5, 0), n.maybe(8)});
  const Val w_scale = n.in(4);
  const Val by_channel =
      w_scale.n_elements() == 1 ? reshape(w_scale, {}) : align(w_scale, 1, x.rank());
  const Val scale = reshape(n.in(1), {}) * by_channel / reshape(n.in(6), {});
  const Val y = apply(FRL_OP_round, cast(sum, scale.element()) * scale) +
                cast(reshape(y_zero, {}), scale.element());
  n.out(0, cast(y, y_zero.element()));
}

void emit_transposed(ModelNode& n, const Window& w, int64_t groups, const Ints& extra,
                     std::vector<Val> operands) {
  Attributes attributes =
      window_attributes(FRL_OP_conv_transpose, FRL_AT_conv_transpose_strides, w);
  attributes.set_i(FRL_AT_conv_transpose_groups, groups)
      .set_list(FRL_AT_conv_transpose_output_pads, extra);
  n.out(0, n.block().emit(FRL_OP_conv_transpose, attributes, std::move(operands)));
}

// The pads that make the result have the extents asked for.
void conv_transpose(ModelNode& n) {
  const Val x = n.in(0), w = n.in(1);
  Window window = window_of(n, x, spatial(w));
  const size_t axes = window.n_axes();
  Ints extra = axes_attribute(n, "output_padding", axes, 0, 0), wanted = n.ints("output_shape");
  const int64_t auto_pad = n.choice("auto_pad", "NOTSET", kAutoPads);
  if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const bool same = auto_pad == kSameUpper || auto_pad == kSameLower;
  for (size_t i = 0; wanted.size() < axes && same && i < axes; ++i)
    wanted.push_back(x.dim(int64_t(i) + 2) * window.strides[i]);
  if (!wanted.empty() && wanted.size() != axes)
    return n.fail(cat("output_shape: want ", axes, " extents, got ", wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t full =
        (x.dim(int64_t(i) + 2) - 1) * window.strides[i] + window.reach(i) + extra[i];
    const int64_t total = full - wanted[i];
    if (wanted[i] < 0 || wanted[i] > kMostWindow)
      return n.fail(cat("output_shape: want 0 or more, got ", wanted[i]));
    if (total < 0) extra[i] -= total;
    share(std::max<int64_t>(total, 0), auto_pad == kSameUpper, &window.pads[i],
          &window.pads[axes + i]);
  }
  emit_transposed(n, window, n.i("group", 1), extra, {x, w, n.maybe(2)});
}

// Places in row-major images as places in column-major ones.
Val column_major(ModelNode& n, Val places, Val x) {
  if (!n.want(x.rank() == 4, "[n, c, h, w] for storage_order 1")) return places;
  const double height = double(x.dim(2)), width = double(x.dim(3));
  const Val image = places / (height * width), inside = places - image * (height * width),
            row = inside / width;
  return image * (height * width) + (inside - row * width) * height + row;
}

void max_pool(ModelNode& n) {
  const Val x = n.in(0);
  const Window w = window_of(n, x);
  Attributes attributes = window_attributes(FRL_OP_max_pool, FRL_AT_max_pool_strides, w);
  attributes.set_list(FRL_AT_max_pool_kernel, w.kernel)
      .set_i(FRL_AT_max_pool_ceil, n.i("ceil_mode", 0) != 0);
  const auto results = n.block().emit_all(FRL_OP_max_pool, attributes, {x});
  n.out(0, results[0]);
  if (n.wants(1)) n.out(1, n.i("storage_order", 0) ? column_major(n, results[1], x) : results[1]);
}

Val average(ModelNode& n, Val x, const Window& w, bool count_pads) {
  Attributes attributes = window_attributes(FRL_OP_avg_pool, FRL_AT_avg_pool_strides, w);
  attributes.set_list(FRL_AT_avg_pool_kernel, w.kernel)
      .set_i(FRL_AT_avg_pool_ceil, n.i("ceil_mode", 0) != 0)
      .set_i(FRL_AT_avg_pool_count_pads, count_pads);
  return n.block().emit(FRL_OP_avg_pool, attributes, {x});
}

void avg_pool(ModelNode& n) {
  const Val x = n.in(0);
  n.out(0, average(n, x, window_of(n, x), n.i("count_include_pad", 0) != 0));
}

void global_pool(ModelNode& n) {
  const Val x = n.in(0);
  if (!n.want(x.rank() > 2, "[n, c, spatial..]")) return;
  const Ints axes = axes_between(2, x.rank());
  n.out(0, n.row().arg == FRL_OP_max ? reduce(FRL_OP_max, x, axes) : mean(x, axes));
}

Val power(Val x, double p) {
  const Val size = apply(FRL_OP_abs, x);
  return p == 1 ? size : p == 2 ? x * x : apply(FRL_OP_pow, size, p);
}
Val root(Val x, double p) {
  return p == 1 ? x : p == 2 ? apply(FRL_OP_sqrt, x) : apply(FRL_OP_pow, x, 1 / p);
}

double norm_order(ModelNode& n) {
  const double p = n.opset() < 2 ? n.f("p", 2) : double(n.i("p", 2));
  if (p < 1) n.fail(cat("p: want 1 or more, got ", p));
  return p;
}

// The mean over every place of the window, pads included, times their number is the sum.
void lp_pool(ModelNode& n) {
  const Val x = n.in(0);
  const Window w = window_of(n, x);
  const double p = norm_order(n);
  if (n.i("ceil_mode", 0)) return n.unsupported("ceil_mode 1");
  double places = 1;
  for (const int64_t extent : w.kernel) places *= double(extent);
  n.out(0, root(average(n, power(x, p), w, true) * places, p));
}

void global_lp_pool(ModelNode& n) {
  const Val x = n.in(0);
  const double p = norm_order(n);
  n.out(0, root(reduce(FRL_OP_add, power(x, p), axes_between(2, x.rank())), p));
}

// Puts each value back at its place in the flat unpooled tensor; larger outputs get zeros behind.
void max_unpool(ModelNode& n) {
  const Val x = n.in(0), places = n.in(1);
  const Window w = window_of(n, x);
  Ints dims = x.dims();
  int64_t total = 1;
  for (size_t i = 0; i < w.n_axes(); ++i)
    dims[i + 2] =
        (dims[i + 2] - 1) * w.strides[i] - w.pads[i] - w.pads[w.n_axes() + i] + w.kernel[i];
  for (const int64_t extent : dims)
    if (extent < 0 || !checked_mul(total, extent, &total))
      return n.fail("pads: want an unpooled tensor of some size");
  const Ints wanted = n.has(2) ? n.known_ints(2) : dims;
  if (n.failed()) return;
  const Val zeros = broadcast_to(n.block().scalar(x.element(), 0), {total});
  Attributes attributes(FRL_OP_scatter_elements);
  attributes.set_i(FRL_AT_scatter_elements_axis, -1);
  const Val flat =
      n.block().emit(FRL_OP_scatter_elements, attributes,
                     {zeros, reshape(places, {places.n_elements()}), reshape(x, {x.n_elements()})});
  if (!n.want(wanted.size() == dims.size(), "an output_shape of the same rank")) return;
  Ints ends;
  for (size_t i = 0; i < dims.size(); ++i) ends.push_back(wanted[i] - dims[i]);
  n.out(0, pad(reshape(flat, dims), Ints(dims.size(), 0), ends));
}

// Sums columns into an image: a transposed convolution with one window place per channel.
void col2im(ModelNode& n) {
  const Val x = n.in(0);
  const Ints image = n.known_ints(1), block = n.known_ints(2);
  const size_t axes = image.size();
  if (!n.want(x.rank() == 3 && axes > 0 && block.size() == axes && x.dim(1) <= kMostWindow,
              "[n, c * block, l] and an extent for each axis"))
    return;
  Window w{block, axes_attribute(n, "strides", axes, 1, 1),
           axes_attribute(n, "dilations", axes, 1, 1), axes_attribute(n, "pads", axes, 0, 0, 2)};
  int64_t places = 1, columns = 1;
  Ints dims = {x.dim(0), x.dim(1)}, extra;
  for (size_t i = 0; i < axes; ++i) {
    if (image[i] < 0 || image[i] > kMostWindow || block[i] < 1 || block[i] > kMostWindow)
      return n.fail("want an image and blocks of 1 to 2^31 - 1");
    const int64_t room = image[i] + w.pads[i] + w.pads[axes + i] - w.reach(i);
    if (room < 0 || !checked_mul(places, block[i], &places))
      return n.fail("want blocks inside the image");
    dims.push_back(room / w.strides[i] + 1), extra.push_back(room % w.strides[i]);
    if (!checked_mul(columns, dims.back(), &columns)) return n.fail("want blocks inside the image");
  }
  if (!n.want(x.dim(1) % places == 0 && x.dim(2) == columns, "as many columns as block places"))
    return;
  Ints shape = {x.dim(1), 1};
  shape.insert(shape.end(), block.begin(), block.end());
  if (places > 1 << 12 || !n.block().may_make(x.dim(1) * places * size_bytes(x.element())))
    return n.unsupported("so large a block");
  Tensor one_hot(TensorType{x.element(), Shape(shape)});
  for (int64_t c = 0; c < x.dim(1); ++c) one_hot.set_f64(c * places + c % places, 1);
  const Val weights = n.block().made(std::move(one_hot), n.out_name(0));
  emit_transposed(n, w, x.dim(1) / places, extra, {reshape(x, dims), weights});
}

constexpr const char* kConv = "auto_pad dilations group kernel_shape pads strides";

constexpr ImportRow kRows[] = {
    {"", "Conv", 1, kEver, conv, "2..3>1", kConv},
    {"", "ConvInteger", 10, kEver, conv_integer, "2..4>1", kConv},
    {"", "QLinearConv", 10, kEver, qlinear_conv, "8..9>1", kConv},
    {"", "ConvTranspose", 1, kEver, conv_transpose, "2..3>1",
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"", "MaxPool", 1, kEver, max_pool, "1>1 8:1>2",
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"", "AveragePool", 1, kEver, avg_pool, "1>1",
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"", "GlobalAveragePool", 1, kEver, global_pool, "1>1", "", FRL_OP_add},
    {"", "GlobalMaxPool", 1, kEver, global_pool, "1>1", "", FRL_OP_max},
    {"", "LpPool", 1, kEver, lp_pool, "1>1",
     "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"", "GlobalLpPool", 1, kEver, global_lp_pool, "1>1", "p"},
    {"", "MaxUnpool", 9, kEver, max_unpool, "2..3>1", "kernel_shape pads strides"},
    {"", "Col2Im", 18, kEver, col2im, "3>1", "dilations pads strides"},
};

}  // namespace

std::span<const ImportRow> conv_rows() { return kRows; }

}  // namespace ferrule
