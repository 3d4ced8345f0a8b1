#include "plugins/cpu/window.h"

namespace cpu {

Window read_window(const Request& request, const frl::Value& x, const frl::Value& y,
                   std::span<const int64_t> kernel, uint32_t first_slot) {
  const std::vector<int64_t> strides = request.attribute_list(first_slot);
  const std::vector<int64_t> dilations = request.attribute_list(first_slot + 1);
  const std::vector<int64_t> pads = request.attribute_list(first_slot + 2);
  const size_t rank = kernel.size();
  if (rank == 0 || rank > 3)
    throw frl::Failure(FRL_NO_SHAPE,
                       "window: want 1 to 3 spatial axes, got " + std::to_string(rank));
  Window out;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& a = out.axis[3 - rank + i];
    a.in = x.extents[2 + i], a.out = y.extents[2 + i], a.kernel = kernel[i];
    a.stride = strides.empty() ? 1 : strides[i];
    a.dilation = dilations.empty() ? 1 : dilations[i];
    a.begin = pads.empty() ? 0 : pads[i], a.end = pads.empty() ? 0 : pads[rank + i];
  }
  return out;
}

}  // namespace cpu
