// 16-bit floats through an f32 kernel: operands are converted on the way in, results on the way
// out, each rounded once.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

// Whether an argument of the kernel has a 16-bit float type.
bool has_narrow_arguments(const frl::Region& region);

class WidenedKernel final : public frl::Kernel {
 public:
  WidenedKernel(const Context& context, const frl::Region& region, KernelPtr inner);
  void run(const frl::Call& call) const override;
  void pack(uint32_t input, const std::byte* source, std::byte* target,
            const frl_host* host) const override;

 private:
  struct Argument {
    TileFn convert = nullptr;  // null: passed on as it is
    int64_t n = 0;             // elements
    uint64_t offset = 0;       // of its f32 form in the scratch
  };
  void convert(const frl_host* host, const Argument& a, void* to, const void* from,
               int64_t to_bytes) const;

  KernelPtr inner_;
  std::vector<Argument> inputs_, outputs_, pack_sources_;
  size_t n_tail_ = 0;           // written extents
  uint64_t inner_scratch_ = 0;  // its offset
};

}  // namespace cpu
