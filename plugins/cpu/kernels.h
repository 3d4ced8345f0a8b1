// What the kernels of this plugin share: where operands are, how a kernel is made of a lambda, and
// the table from op to maker.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plugin-api/sdk/kernel.h"
#include "plugin-api/sdk/region.h"
#include "plugin-api/sdk/team.h"
#include "plugins/cpu/element.h"
#include "plugins/cpu/isa.h"

namespace cpu {

// What a device was opened with.
struct Context {
  const Isa* isa;
  bool openblas = false;
};

// An operand or result at run time: an argument, or a literal that the kernel keeps (a splat is
// spread, so that elements can be read either way).
class Place {
 public:
  Place() = default;
  explicit Place(const frl::Operand& o) : argument_(o.argument), present_(o.present()) {
    if (o.argument >= 0 || !o.present()) return;
    literal_.resize(static_cast<size_t>(o.value.bytes()));
    const auto given = o.value.literal;
    for (size_t at = 0; at < literal_.size() && !given.empty(); at += given.size())
      std::memcpy(literal_.data() + at, given.data(), std::min(given.size(), literal_.size() - at));
  }
  bool present() const { return present_; }
  int argument() const { return argument_; }
  std::byte* at(const frl::Call& call) const {
    return argument_ >= 0 ? call.args[argument_] : const_cast<std::byte*>(literal_.data());
  }
  // Null if the operand is missing.
  template <class T>
  const T* in(const frl::Call& call) const {
    return present_ ? reinterpret_cast<const T*>(at(call)) : nullptr;
  }
  template <class T>
  T* out(const frl::Call& call) const {
    return present_ ? reinterpret_cast<T*>(at(call)) : nullptr;
  }

 private:
  int argument_ = -1;
  bool present_ = false;
  std::vector<std::byte> literal_;
};

using KernelPtr = std::unique_ptr<frl::Kernel>;

// A kernel of one function: make_kernel([x, y](const frl::Call& call) { ... }).
template <class Fn>
class FunctionKernel final : public frl::Kernel {
 public:
  explicit FunctionKernel(Fn fn) : fn_(std::move(fn)) {}
  void run(const frl::Call& call) const override { fn_(call); }

 private:
  Fn fn_;
};
template <class Fn>
KernelPtr make_kernel(Fn fn) {
  return std::make_unique<FunctionKernel<Fn>>(std::move(fn));
}

// An axis from the end as an index from the start.
inline size_t axis_index(const frl::Value& v, int64_t axis) {
  return static_cast<size_t>(axis < 0 ? axis + v.rank : axis);
}
// The extents before, at and behind an axis, multiplied up.
struct Split {
  int64_t outer = 1, n = 1, inner = 1;
};
inline Split split_at(const frl::Value& v, size_t axis) {
  Split s;
  for (size_t d = 0; d < v.rank; ++d)
    (d < axis ? s.outer : d == axis ? s.n : s.inner) *= v.extents[d];
  return s;
}
inline frl::Extents dense_strides(const frl::Value& v) {
  frl::Extents out{};
  int64_t stride = 1;
  for (uint32_t d = v.rank; d-- > 0; stride *= v.extents[d]) out[d] = stride;
  return out;
}
// Nanoseconds to touch this many bytes once, for deciding how many workers to wake.
inline double touch_ns(double bytes) { return bytes * 0.1; }

using Maker = KernelPtr (*)(const Context& context, const frl::Region& region);

// Of the op or kind; null if this plugin has none.
Maker find_maker(uint32_t op);

#define FRL_MAKER(op, function) KernelPtr function(const Context& context, const frl::Region& region);
#include "plugins/cpu/makers.def"
#undef FRL_MAKER

}  // namespace cpu
