// Reference evaluation of ops whose result extents depend on element values.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

Tensor matrix_of(int64_t rows, int64_t columns, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(Type::i64, Shape{rows, columns}, values);
}

// -1, 0 or 1; NaN is equal to NaN and above everything else.
template <class W>
int compare(W a, W b) {
  if (a != a || b != b) return int(a != a) - int(b != b);
  return int(a > b) - int(a < b);
}

// The items (slices along an axis, or single elements) of unique.
template <class W>
struct Items {
  std::vector<W> values;
  Lanes lanes;

  int order(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < lanes.outer && lanes.inner > 0; ++o)
      for (int64_t k = 0; k < lanes.inner; ++k) {
        const int64_t row = o * lanes.n;
        const int c = compare(values[size_t((row + a) * lanes.inner + k)],
                              values[size_t((row + b) * lanes.inner + k)]);
        if (c) return c;
      }
    return 0;
  }
};

struct Distinct {
  std::vector<int64_t> first, counts, inverse;
};

template <class W>
Distinct find_distinct(const Items<W>& items, bool sorted) {
  const int64_t n = items.lanes.n;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return items.order(a, b) < 0; });
  Distinct out;
  out.inverse.resize(static_cast<size_t>(n));
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || items.order(order[i - 1], order[i]) != 0) {
      out.first.push_back(order[i]);
      out.counts.push_back(0);
    }
    ++out.counts.back();
    out.inverse[size_t(order[i])] = int64_t(out.first.size()) - 1;
  }
  if (sorted) return out;
  // In order of first appearance instead.
  std::vector<int64_t> rank(out.first.size()), place(out.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::sort(rank.begin(), rank.end(),
            [&](int64_t a, int64_t b) { return out.first[size_t(a)] < out.first[size_t(b)]; });
  Distinct by_place;
  for (size_t i = 0; i < rank.size(); ++i) {
    by_place.first.push_back(out.first[size_t(rank[i])]);
    by_place.counts.push_back(out.counts[size_t(rank[i])]);
    place[size_t(rank[i])] = int64_t(i);
  }
  for (const int64_t i : out.inverse) by_place.inverse.push_back(place[size_t(i)]);
  return by_place;
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_at(const double* p, bool centre) {
  if (centre) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

// Intersection over union is above the threshold.
bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return false;
  const double both = height * width;
  return both / (a.area() + b.area() - both) > threshold;
}

}  // namespace

Status eval_nonzero(const OpCall&, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const size_t rank = x.shape().rank();
  std::vector<std::vector<int64_t>> places(rank);
  int64_t n = 0;
  with_wide(x.element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(x);
    size_t i = 0;
    for (Odometer at(x.shape()); at.more(); at.next(), ++i) {
      if (in[i] == 0) continue;
      for (size_t axis = 0; axis < rank; ++axis) places[axis].push_back(at[axis]);
      ++n;
    }
  });
  std::vector<int64_t> all;
  for (const auto& row : places) all.insert(all.end(), row.begin(), row.end());
  results[0] = matrix_of(int64_t(rank), n, all);
  return {};
}

Status eval_unique(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const int64_t attribute = call.attributes.i(FRL_AT_unique_axis);
  const Shape shape = attribute ? x.shape() : Shape{x.n_elements()};
  const size_t axis = attribute ? from_end(shape, attribute) : 0;
  const Lanes lanes(shape, axis);
  const Distinct found = with_wide(x.element(), [&]<class W>(W) {
    return find_distinct(Items<W>{load<W>(x), lanes}, call.attributes.i(FRL_AT_unique_sorted) != 0);
  });
  const size_t n = found.first.size();
  Shape distinct = shape;
  distinct.set(axis, {int64_t(n), 0});
  results[0] = Tensor(TensorType{x.element(), distinct});
  const size_t bytes = size_t(lanes.inner * size_bytes(x.element()));
  for (size_t o = 0; o < size_t(lanes.outer) && bytes * n > 0; ++o)
    for (size_t i = 0; i < n; ++i)
      std::memcpy(results[0].mutable_data() + (o * n + i) * bytes,
                  x.bytes().data() + (o * size_t(lanes.n) + size_t(found.first[i])) * bytes, bytes);
  results[1] = Tensor::of_i64(found.first);
  results[2] = Tensor::of_i64(found.inverse);
  results[3] = Tensor::of_i64(found.counts);
  return {};
}

Status eval_non_max_suppression(const OpCall& call, Operands operands, Results results) {
  const Shape& shape = operands[1]->shape();
  const int64_t n_classes = shape[1], n_boxes = shape[2];
  const int64_t most = call.attributes.i(FRL_AT_non_max_suppression_max_per_class);
  const double iou = call.attributes.f(FRL_AT_non_max_suppression_iou_threshold);
  const double least = call.attributes.f(FRL_AT_non_max_suppression_score_threshold);
  const bool centre = call.attributes.i(FRL_AT_non_max_suppression_centre) != 0;
  const std::vector<double> boxes = load<double>(*operands[0]), scores = load<double>(*operands[1]);
  std::vector<int64_t> all;
  for (int64_t nc = 0; n_boxes > 0 && nc < shape[0] * n_classes; ++nc) {
    const int64_t image = nc / n_classes;
    const auto score = [&](int64_t i) { return scores[size_t(nc * n_boxes + i)]; };
    std::vector<int64_t> order;
    for (int64_t i = 0; i < n_boxes; ++i)
      if (score(i) > least) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return score(a) > score(b); });
    std::vector<Box> kept;
    for (const int64_t i : order) {
      if (int64_t(kept.size()) >= most) break;
      const Box box = box_at(boxes.data() + (image * n_boxes + i) * 4, centre);
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const Box& k) { return overlaps(k, box, iou); }))
        continue;
      kept.push_back(box);
      all.insert(all.end(), {image, nc % n_classes, i});
    }
  }
  results[0] = matrix_of(int64_t(all.size()) / 3, 3, all);
  return {};
}

}  // namespace ferrule
