// Ops that move elements without looking at them.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// A list that was an attribute before opset `since` and is input `i` from then on.
Ints list_of(ModelNode& n, const char* attribute, int64_t since, size_t i) {
  if (n.opset() < since) return n.ints(attribute);
  return n.has(i) ? n.known_ints(i) : Ints();
}

void reshape_to(ModelNode& n) {
  const Val x = n.in(0);
  Ints dims = list_of(n, "shape", 5, 1);
  if (n.failed()) return;
  const bool keep_zeros = n.i("allowzero", 0) != 0;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keep_zeros) {
      if (!n.want(int64_t(i) < x.rank(), "an axis to copy for each 0")) return;
      dims[i] = x.dim(int64_t(i));
    }
    if (dims[i] == -1) {
      if (open >= 0) return n.fail("shape: want at most one -1, got two");
      open = int64_t(i);
    } else if (dims[i] < 0 || !checked_mul(known, dims[i], &known)) {
      return n.fail(cat("shape: want extents of 0 or more, got ", dims[i]));
    }
  }
  if (open >= 0) {
    if (!n.want(known != 0 && x.n_elements() % known == 0, "a shape that holds the elements"))
      return;
    dims[size_t(open)] = x.n_elements() / known;
  }
  n.out(0, reshape(x, dims));
}

void flatten_to(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.split_attribute(x.rank());
  n.out(0, flatten(x, axis));
}

void squeeze_axes(ModelNode& n) {
  const Val x = n.in(0);
  Ints axes = list_of(n, "axes", 13, 1);
  const bool given = n.opset() < 13 ? n.has_attribute("axes") : n.has(1);
  for (int64_t axis = 0; !given && axis < x.rank(); ++axis)
    if (x.dim(axis) == 1) axes.push_back(axis);
  n.out(0, squeeze(x, n.axes(axes, x.rank())));
}

void unsqueeze_axes(ModelNode& n) {
  const Ints axes = list_of(n, "axes", 13, 1);
  const Val x = n.in(0);
  n.out(0, unsqueeze(x, n.axes(axes, x.rank() + int64_t(axes.size()))));
}

void transpose_axes(ModelNode& n) {
  const Val x = n.in(0);
  Ints order = n.ints("perm");
  if (!n.has_attribute("perm"))
    for (int64_t axis = x.rank(); axis-- > 0;) order.push_back(axis);
  n.out(0, transpose(x, n.axes(order, x.rank())));
}

void concat_parts(ModelNode& n) {
  std::vector<Val> parts;
  for (size_t i = 0; i < n.n_in(); ++i) parts.push_back(n.in(i));
  const int64_t axis = n.opset() < 4 ? n.i("axis", 1) : n.need_i("axis");
  n.out(0, concat(parts, n.axis(axis, parts[0].rank())));
}

void split_parts(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis_attribute(0, x.rank());
  Ints sizes = n.opset() == 1 && n.has(1) ? n.known_ints(1) : list_of(n, "split", 13, 1);
  if (n.failed()) return;
  if (n.opset() >= 18 && n.has(1) == n.has_attribute("num_outputs"))
    return n.fail(cat("want split or num_outputs, got ", n.has(1) ? "both" : "none"));
  if (sizes.empty()) {
    const int64_t parts = n.i("num_outputs", int64_t(n.n_out())), extent = x.dim(axis);
    if (parts < 1 || parts != int64_t(n.n_out()))
      return n.fail(cat("num_outputs: want ", n.n_out(), ", got ", parts));
    const int64_t size = (extent + parts - 1) / parts;
    if (n.opset() < 18 && extent % parts != 0)
      return n.fail(cat("want ", parts, " equal parts of ", extent));
    for (int64_t at = 0; at < extent || int64_t(sizes.size()) < parts; at += size)
      sizes.push_back(std::min(size, std::max<int64_t>(extent - at, 0)));
  }
  int64_t sum = 0;
  for (const int64_t size : sizes)
    if (size < 0 || !checked_add(sum, size, &sum))
      return n.fail(cat("split: want sizes of 0 or more, got ", size));
  if (sum != x.dim(axis))
    return n.fail(cat("split: want sizes that sum to ", x.dim(axis), ", got ", sum));
  if (sizes.size() != n.n_out())
    return n.fail(cat("split: want ", n.n_out(), " sizes, got ", sizes.size()));
  for (int64_t i = 0, at = 0; i < int64_t(sizes.size()); at += sizes[size_t(i++)])
    n.out(size_t(i), slice(x, axis, at, sizes[size_t(i)]));
}

// Where a slice along one axis begins and how many steps it takes, by NumPy's rules.
struct Cut {
  int64_t start, size;
};
Cut cut_of(int64_t start, int64_t end, int64_t step, int64_t extent) {
  const auto clamp = [&](int64_t at, int64_t low, int64_t high) {
    // Far negative numbers stand for "before the start"; adding the extent must not overflow.
    if (at < 0) at = std::max(at, -extent - 1) + extent;
    return std::clamp(at, low, high);
  };
  if (step > 0) {
    start = clamp(start, 0, extent), end = clamp(end, 0, extent);
    return {start, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = clamp(start, -1, extent - 1), end = clamp(end, -1, extent - 1);
  return start > end ? Cut{start, (start - end - 1) / -std::max(step, -INT64_MAX) + 1} : Cut{0, 0};
}

void slice_axes(ModelNode& n) {
  const Val x = n.in(0);
  const Ints starts = list_of(n, "starts", 10, 1), ends = list_of(n, "ends", 10, 2);
  Ints axes = list_of(n, "axes", 10, 3), steps = n.opset() < 10 ? Ints() : list_of(n, "", 10, 4);
  if (n.failed()) return;
  if (axes.empty()) axes = axes_between(0, int64_t(starts.size()));
  if (steps.empty()) steps.assign(starts.size(), 1);
  axes = n.axes(axes, x.rank());
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return n.fail(cat("want starts, ends, axes and steps of one length, got ", starts.size(), ", ",
                      ends.size(), ", ", axes.size(), ", ", steps.size()));
  Ints from(size_t(x.rank()), 0), sizes = x.dims(), by(size_t(x.rank()), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = size_t(axes[i]);
    if (steps[i] == 0) return n.fail("steps: want other steps than 0");
    const Cut cut = cut_of(starts[i], ends[i], steps[i], x.dim(int64_t(axis)));
    from[axis] = cut.start, sizes[axis] = cut.size, by[axis] = cut.size > 1 ? steps[i] : 1;
  }
  n.out(0, slice(x, from, sizes, by));
}

void pad_axes(ModelNode& n) {
  static constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
  const Val x = n.in(0);
  const int64_t mode = n.choice("mode", "constant", kModes);
  const Ints pads = n.opset() < 2 ? n.ints("paddings") : list_of(n, "pads", 11, 1);
  const Ints axes = n.has(3) ? n.axes(n.known_ints(3), x.rank()) : axes_between(0, x.rank());
  if (n.failed()) return;
  if (pads.size() != 2 * axes.size())
    return n.fail(cat("pads: want ", 2 * axes.size(), " numbers, got ", pads.size()));
  Ints begins(size_t(x.rank()), 0), ends(size_t(x.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    begins[size_t(axes[i])] = pads[i];
    ends[size_t(axes[i])] = pads[i + axes.size()];
  }
  Val fill{&n.block(), kNoValue};
  if (n.opset() < 11 && n.f("value", 0) != 0) fill = n.block().scalar(x.element(), n.f("value", 0));
  if (n.opset() >= 11 && n.has(2)) fill = reshape(n.in(2), {});
  n.out(0, pad(x, begins, ends, mode, mode == 0 ? fill : Val{&n.block(), kNoValue}));
}

void expand_to(ModelNode& n) {
  const Val x = n.in(0);
  Ints to = n.known_ints(1), from = x.dims();
  if (n.failed()) return;
  // Ones in front, to one rank; then each axis the extent that is not 1.
  to.insert(to.begin(), size_t(std::max<int64_t>(0, x.rank() - int64_t(to.size()))), 1);
  from.insert(from.begin(), to.size() - from.size(), 1);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != from[i] && to[i] != 1 && from[i] != 1)
      return n.fail(cat("shape: want one that ", to_string(x.shape()), " broadcasts with, got ",
                        to[i], " at axis ", i));
    if (to[i] == 1) to[i] = from[i];
  }
  n.out(0, broadcast_to(x, to));
}

// Each axis a becomes [repeats, a], and both together one axis.
void tile(ModelNode& n) {
  const Val x = n.in(0);
  Ints repeats(size_t(x.rank()), 1);
  if (n.opset() < 6) {
    const int64_t axis = n.axis(n.known_integer(2, 0), x.rank());
    if (!n.failed() && x.rank() > 0) repeats[size_t(axis)] = n.known_integer(1, 1);
  } else {
    repeats = n.known_ints(1);
  }
  if (n.failed()) return;
  if (int64_t(repeats.size()) != x.rank())
    return n.fail(cat("repeats: want ", x.rank(), ", got ", repeats.size()));
  Ints apart, wide, whole;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t times = repeats[size_t(axis)];
    int64_t extent = 0;
    if (times < 0 || !checked_mul(times, x.dim(axis), &extent))
      return n.fail(cat("repeats: want 0 or more and at most 2^59 elements, got ", times));
    if (times != 1) apart.push_back(1), wide.push_back(times);
    apart.push_back(x.dim(axis)), wide.push_back(x.dim(axis)), whole.push_back(extent);
  }
  n.out(0, reshape(broadcast_to(reshape(x, apart), wide), whole));
}

void depth_to_space(ModelNode& n) {
  static constexpr const char* kModes[] = {"DCR", "CRD"};
  const Val x = n.in(0);
  const int64_t block = n.need_i("blocksize"), crd = n.choice("mode", "DCR", kModes);
  const bool fits =
      x.rank() == 4 && block > 0 && block < 1 << 15 && x.dim(1) % (block * block) == 0;
  if (!n.want(fits, "[n, c * blocksize^2, h, w]")) return;
  const int64_t depth = x.dim(1) / (block * block);
  const Val apart = crd ? reshape(x, {x.dim(0), depth, block, block, x.dim(2), x.dim(3)})
                        : reshape(x, {x.dim(0), block, block, depth, x.dim(2), x.dim(3)});
  const Val ordered =
      crd ? transpose(apart, {0, 1, 4, 2, 5, 3}) : transpose(apart, {0, 3, 4, 1, 5, 2});
  n.out(0, reshape(ordered, {x.dim(0), depth, x.dim(2) * block, x.dim(3) * block}));
}

void space_to_depth(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t block = n.need_i("blocksize");
  const bool fits = x.rank() == 4 && block > 0 && block < 1 << 15 && x.dim(2) % block == 0 &&
                    x.dim(3) % block == 0;
  if (!n.want(fits, "[n, c, h * blocksize, w * blocksize]")) return;
  const int64_t height = x.dim(2) / block, width = x.dim(3) / block;
  const Val apart = reshape(x, {x.dim(0), x.dim(1), height, block, width, block});
  n.out(0, reshape(transpose(apart, {0, 3, 5, 1, 2, 4}),
                   {x.dim(0), x.dim(1) * block * block, height, width}));
}

void trilu(ModelNode& n) {
  Attributes attributes(FRL_OP_trilu);
  attributes.set_i(FRL_AT_trilu_upper, n.i("upper", 1) != 0);
  attributes.set_i(FRL_AT_trilu_k, n.known_integer(1, 0));
  n.out(0, n.block().emit(FRL_OP_trilu, attributes, {n.in(0)}));
}

// Crops and pads to the given extents, both halves rounded as the specification's function does.
void center_crop_pad(ModelNode& n) {
  const Val x = n.in(0);
  const Ints shape = n.known_ints(1);
  const Ints axes =
      n.has_attribute("axes") ? n.axes(n.ints("axes"), x.rank()) : axes_between(0, x.rank());
  if (n.failed()) return;
  if (shape.size() != axes.size())
    return n.fail(cat("shape: want ", axes.size(), " extents, got ", shape.size()));
  Ints begins(size_t(x.rank()), 0), ends(size_t(x.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = size_t(axes[i]);
    if (shape[i] < 0) return n.fail(cat("shape: want 0 or more, got ", shape[i]));
    const int64_t have = x.dim(int64_t(axis)), more = shape[i] - have;
    begins[axis] = more >= 0 ? more / 2 : -(-more / 2);
    ends[axis] = more - begins[axis];
  }
  n.out(0, pad(x, begins, ends));
}

constexpr ImportRow kRows[] = {
    {"", "Reshape", 1, kEver, reshape_to, "1>1 5:2>1", "shape allowzero", 0, true},
    {"", "Flatten", 1, kEver, flatten_to, "1>1", "axis"},
    {"", "Squeeze", 1, kEver, squeeze_axes, "1>1 13:1..2>1", "axes", 0, true},
    {"", "Unsqueeze", 1, kEver, unsqueeze_axes, "1>1 13:2>1", "axes", 0, true},
    {"", "Transpose", 1, kEver, transpose_axes, "1>1", "perm", 0, true},
    {"", "Concat", 1, kEver, concat_parts, "1..>1", "axis", 0, true},
    {"", "Split", 1, kEver, split_parts, "1..2>.. 2:1>.. 13:1..2>..", "axis split num_outputs", 0,
     true},
    {"", "Slice", 1, kEver, slice_axes, "1>1 10:3..5>1", "starts ends axes", 0, true},
    {"", "Pad", 1, kEver, pad_axes, "1>1 11:2..3>1 18:2..4>1", "mode pads paddings value"},
    {"", "Expand", 8, kEver, expand_to, "2>1", ""},
    {"", "Tile", 1, kEver, tile, "3>1 6:2>1", ""},
    {"", "DepthToSpace", 1, kEver, depth_to_space, "1>1", "blocksize mode"},
    {"", "SpaceToDepth", 1, kEver, space_to_depth, "1>1", "blocksize"},
    {"", "Trilu", 14, kEver, trilu, "1..2>1", "upper"},
    {"", "CenterCropPad", 18, kEver, center_crop_pad, "2>1", "axes"},
};

}  // namespace

std::span<const ImportRow> shape_rows() { return kRows; }

}  // namespace ferrule
