// Strided copies of whole tensors: what reshape, transpose, broadcast, slice, concat and pad come
// to.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

// Copies elements from one stride pattern to another. Strides and offsets count elements; source
// strides may be zero or negative.
class CopyPlan {
 public:
  CopyPlan() = default;
  // All of one length. Axes of extent 1 vanish, neighbours that run on become one.
  CopyPlan(std::span<const int64_t> extents, std::span<const int64_t> source_strides,
           std::span<const int64_t> target_strides, int64_t width_bytes);

  int64_t n_elements() const;
  void run(const frl_host* host, std::byte* target, const std::byte* source) const;

  int64_t source_offset = 0, target_offset = 0;

 private:
  struct Axis {
    int64_t extent, source, target;
  };
  void copy_rows(std::byte* target, const std::byte* source, int64_t begin, int64_t end) const;

  std::vector<Axis> axes_;  // outermost first; the last two are the block that is copied at once
  int64_t width_ = 1;
};

}  // namespace cpu
