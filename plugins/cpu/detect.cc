// non_max_suppression.
#include <algorithm>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};
template <class T>
Box box_at(const T* p, bool centre) {
  const auto at = [&](int i) { return static_cast<double>(p[i]); };
  if (centre) return {at(1) - at(3) / 2, at(0) - at(2) / 2, at(1) + at(3) / 2, at(0) + at(2) / 2};
  return {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)),
          std::max(at(1), at(3))};
}
// Intersection over union above the threshold.
bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return false;
  const double both = height * width;
  return both / (a.area() + b.area() - both) > threshold;
}

struct Rule {
  int64_t most;
  double iou, least;
  bool centre;
};

// The boxes of one image and class that stay, best first.
template <class T>
void select(const T* boxes, const T* scores, int64_t n, const Rule& rule,
            std::vector<int64_t>& kept) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i)
    if (static_cast<double>(scores[i]) > rule.least) order.push_back(i);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<Box> chosen;
  kept.clear();
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= rule.most) return;
    const Box box = box_at(boxes + i * 4, rule.centre);
    if (std::ranges::any_of(chosen, [&](const Box& c) { return overlaps(c, box, rule.iou); }))
      continue;
    chosen.push_back(box), kept.push_back(i);
  }
}

}  // namespace

KernelPtr make_non_max_suppression(const Context&, const Request& request) {
  const frl::Operand boxes = request.operand(0), scores = request.operand(1), y = request.result(0);
  const Rule rule{request.attribute_i(FRL_AT_non_max_suppression_max_per_class),
                  request.attribute_f(FRL_AT_non_max_suppression_iou_threshold),
                  request.attribute_f(FRL_AT_non_max_suppression_score_threshold),
                  request.attribute_i(FRL_AT_non_max_suppression_centre) != 0};
  const int extents = request.extents_argument();
  return with_float(scores.value.type, [&]<class T>(T) {
    return make_kernel([=, v = scores.value, b = Place(boxes), s = Place(scores),
                        to = Place(y)](const frl::Call& call) {
      const int64_t classes = v.extents[1], n = v.extents[2];
      int64_t* out = to.out<int64_t>(call);
      int64_t found = 0;
      std::vector<int64_t> kept;
      for (int64_t k = 0; k < v.extents[0] * classes; ++k) {
        select(b.in<T>(call) + k / classes * n * 4, s.in<T>(call) + k * n, n, rule, kept);
        for (int64_t i : kept) {
          out[3 * found] = k / classes, out[3 * found + 1] = k % classes, out[3 * found + 2] = i;
          ++found;
        }
      }
      if (extents >= 0) *call.out<int64_t>(extents) = found;
    });
  });
}

}  // namespace cpu
