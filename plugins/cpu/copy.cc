#include "plugins/cpu/copy.h"

#include <algorithm>
#include <cstring>

namespace cpu {

CopyPlan::CopyPlan(std::span<const int64_t> extents, std::span<const int64_t> source_strides,
                   std::span<const int64_t> target_strides, int64_t width_bytes)
    : width_(width_bytes) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < extents.size(); ++d)
    if (extents[d] != 1) axes.push_back({extents[d], source_strides[d], target_strides[d]});
  // Walk the target in its own order: writes in sequence matter more than reads.
  std::ranges::stable_sort(axes, std::greater{}, &Axis::target);
  for (const Axis& a : axes) {
    if (!axes_.empty() && axes_.back().source == a.source * a.extent &&
        axes_.back().target == a.target * a.extent)
      axes_.back() = {axes_.back().extent * a.extent, a.source, a.target};
    else
      axes_.push_back(a);
  }
  while (axes_.size() < 2) axes_.insert(axes_.begin(), {1, 0, 0});
}

int64_t CopyPlan::n_elements() const {
  int64_t n = 1;
  for (const Axis& a : axes_) n *= a.extent;
  return n;
}

namespace {

// A block of rows: contiguous, splat, or strided runs; columns of the source in squares.
template <class T>
void copy_block(T* target, const T* source, int64_t rows, int64_t source_row, int64_t target_row,
                int64_t n, int64_t source_step, int64_t target_step) {
  if (target_step == 1 && source_step == 1) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(target + r * target_row, source + r * source_row,
                  static_cast<size_t>(n) * sizeof(T));
    return;
  }
  if (target_step == 1 && source_step == 0) {
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(target + r * target_row, n, source[r * source_row]);
    return;
  }
  constexpr int64_t kSide = 32;
  const bool transposed = source_row == 1 && rows > 1;
  const int64_t side = transposed ? kSide : n;
  for (int64_t c = 0; c < n; c += side) {
    const int64_t end = std::min(n, c + side);
    for (int64_t r = 0; r < rows; ++r) {
      const T* s = source + r * source_row;
      T* t = target + r * target_row;
      for (int64_t i = c; i < end; ++i) t[i * target_step] = s[i * source_step];
    }
  }
}

}  // namespace

// Rows [begin, end) of all but the last axis; whole runs of the axis before it go as one block.
void CopyPlan::copy_rows(std::byte* target, const std::byte* source, int64_t begin,
                         int64_t end) const {
  const size_t outer = axes_.size() - 2;
  const Axis &row = axes_[outer], &inner = axes_[outer + 1];
  constexpr int64_t kRows = 32;
  for (int64_t at = begin; at < end;) {
    const int64_t first = at % row.extent;
    const int64_t n = std::min({row.extent - first, end - at, kRows});
    int64_t s = source_offset + first * row.source, t = target_offset + first * row.target;
    int64_t rest = at / row.extent;
    for (size_t d = outer; d-- > 0; rest /= axes_[d].extent) {
      s += rest % axes_[d].extent * axes_[d].source;
      t += rest % axes_[d].extent * axes_[d].target;
    }
    const auto block = [&]<class T>(T) {
      copy_block(reinterpret_cast<T*>(target) + t, reinterpret_cast<const T*>(source) + s, n,
                 row.source, row.target, inner.extent, inner.source, inner.target);
    };
    switch (width_) {
      case 1:
        block(uint8_t{});
        break;
      case 2:
        block(uint16_t{});
        break;
      case 4:
        block(uint32_t{});
        break;
      default:
        block(uint64_t{});
        break;
    }
    at += n;
  }
}

void CopyPlan::run(const frl_host* host, std::byte* target, const std::byte* source) const {
  const int64_t n = n_elements(), inner = axes_.back().extent;
  if (n == 0) return;
  const bool runs = axes_.back().source == 1 && axes_.back().target == 1;
  const double bytes = static_cast<double>(inner * width_);
  // One long run is cut by bytes instead.
  if (n == inner && runs) {
    constexpr int64_t kPiece = 4096;
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    frl::for_slices(host, pieces, touch_ns(static_cast<double>(kPiece * width_)), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      const int64_t a = begin * kPiece, b = std::min(n, end * kPiece);
                      std::memcpy(target + (target_offset + a) * width_,
                                  source + (source_offset + a) * width_,
                                  static_cast<size_t>((b - a) * width_));
                    });
    return;
  }
  frl::for_slices(
      host, n / inner, touch_ns(bytes * (runs ? 1 : 4)) + 2, 0,
      [&](int64_t begin, int64_t end, void*) { copy_rows(target, source, begin, end); });
}

}  // namespace cpu
