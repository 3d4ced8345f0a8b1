// What the kernels of this plugin share: where operands are, how a kernel is made of a lambda, and
// the table from op to maker.
#pragma once

#include <functional>
#include <initializer_list>
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

// A region as its maker sees it: as it is, or with every 16-bit float tensor taken for an f32 one.
class Request {
 public:
  Request(const frl::Region& region, bool wide) : region_(region), wide_(wide) {}

  const frl::Region& region() const { return region_; }
  uint32_t kind() const { return region_.kind(); }
  size_t n_operands() const { return region_.n_operands(); }
  frl::Operand operand(size_t i) const { return widened(region_.operand(i)); }
  frl::Operand result(size_t i) const { return widened(region_.result(i)); }
  int extents_argument() const { return region_.extents_argument(); }
  // Which input of the region an operand is: packs name it. FRL_NO_VALUE for literals.
  uint32_t input_of(const frl::Operand& o) const {
    for (uint32_t i = 0; i < region_.n_inputs(); ++i)
      if (o.present() && region_.input(i).id == o.value.id) return i;
    return FRL_NO_VALUE;
  }
  int64_t attribute_i(uint32_t slot) const { return region_.attribute_i(slot); }
  double attribute_f(uint32_t slot) const { return region_.attribute_f(slot); }
  std::vector<int64_t> attribute_list(uint32_t slot) const { return region_.attribute_list(slot); }

 private:
  frl::Operand widened(frl::Operand o) const;

  const frl::Region& region_;
  bool wide_;
  mutable std::vector<std::unique_ptr<std::vector<float>>> literals_;  // widened ones
};

// The key of a pack: all that decides how its bytes are laid out. `form` tells packers apart.
inline uint64_t pack_key(const char* form, std::initializer_list<int64_t> words) {
  uint64_t key = 1469598103934665603ull;
  const auto add = [&](uint64_t x) { key = (key ^ x) * 1099511628211ull; };
  for (; *form; ++form) add(static_cast<unsigned char>(*form));
  for (int64_t w : words) add(static_cast<uint64_t>(w));
  return key;
}

using Maker = KernelPtr (*)(const Context& context, const Request& request);

// How a maker serves 16-bit floats: itself, or as f32 between conversions (widen.h).
enum class Narrow : uint8_t { as_is, in_f32 };

// The kernel of a region.
//   errors  throws FRL_NOT_CLAIMED for kinds that this plugin has none for
KernelPtr compile_region(const Context& context, const frl::Region& region);

#define FRL_MAKER(op, function, narrow) \
  KernelPtr function(const Context& context, const Request& request);
#include "plugins/cpu/makers.def"
#undef FRL_MAKER

}  // namespace cpu
