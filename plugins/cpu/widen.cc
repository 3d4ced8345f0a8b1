#include "plugins/cpu/widen.h"

#include <algorithm>

namespace cpu {
namespace {

constexpr size_t kMaxArguments = 300;  // 255 operands, results, extents, scratch
bool is_narrow(const frl::Value& v) { return v.type == FRL_F16 || v.type == FRL_BF16; }
uint64_t f32_bytes(int64_t n) { return (static_cast<uint64_t>(n) * sizeof(float) + 63) / 64 * 64; }

}  // namespace

bool has_narrow_arguments(const frl::Region& region) {
  for (size_t i = 0; i < region.n_inputs(); ++i)
    if (is_narrow(region.input(i))) return true;
  for (size_t i = 0; i < region.n_outputs(); ++i)
    if (is_narrow(region.output(i))) return true;
  return false;
}

WidenedKernel::WidenedKernel(const Context& context, const frl::Region& region, KernelPtr inner)
    : inner_(std::move(inner)) {
  const Isa& isa = *context.isa;
  packs = inner_->packs;
  uint64_t offset = 0;
  const auto add = [&](std::vector<Argument>& list, const frl::Value& v, bool in, bool packed) {
    Argument a;
    if (is_narrow(v) && !packed) {
      const bool half = v.type == FRL_F16;
      a = {in ? (half ? isa.load_f16 : isa.load_bf16) : (half ? isa.store_f16 : isa.store_bf16),
           v.n_elements(), offset};
      offset += f32_bytes(a.n);
    }
    list.push_back(a);
  };
  for (size_t i = 0; i < region.n_inputs(); ++i) {
    const frl::Value v = region.input(i);
    if (!v.present()) continue;
    const bool packed = std::ranges::any_of(packs, [&](const frl_pack& p) { return p.input == i; });
    add(inputs_, v, true, packed);
    // Another key than that of an f32 parameter of the same shape.
    for (frl_pack& p : packs)
      if (p.input == i) p.key ^= v.type * 0x9e3779b97f4a7c15ull;
  }
  for (size_t i = 0; i < region.n_outputs(); ++i) add(outputs_, region.output(i), false, false);
  n_tail_ = region.n_symbols(true) ? 1 : 0;
  inner_scratch_ = offset;
  scratch_bytes = offset + inner_->scratch_bytes;
  // Pack sources are whole parameters: their conversion needs the element count.
  for (const frl_pack& p : packs) {
    const frl::Value v = region.input(p.input);
    pack_sources_.push_back({v.type == FRL_F16 ? isa.load_f16 : isa.load_bf16, v.n_elements(), 0});
    if (!is_narrow(v)) pack_sources_.back().convert = nullptr;
  }
}

void WidenedKernel::convert(const frl_host* host, const Argument& a, void* to, const void* from,
                            int64_t to_bytes) const {
  constexpr int64_t kPart = 4096;
  const int64_t from_bytes = 6 - to_bytes;  // one side has 2, the other 4
  frl::for_slices(host, (a.n + kPart - 1) / kPart, 0.1 * kPart, 0,
                  [&](int64_t begin, int64_t end, void*) {
                    const int64_t first = begin * kPart, n = std::min(a.n, end * kPart) - first;
                    a.convert(static_cast<std::byte*>(to) + first * to_bytes,
                              static_cast<const std::byte*>(from) + first * from_bytes, nullptr,
                              nullptr, n, nullptr);
                  });
}

void WidenedKernel::run(const frl::Call& call) const {
  const size_t n = inputs_.size() + outputs_.size() + n_tail_;
  std::byte* scratch = scratch_bytes ? call.args[n] : nullptr;
  std::byte* args[kMaxArguments];
  std::copy_n(call.args, n, args);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].convert) continue;
    args[i] = scratch + inputs_[i].offset;
    convert(call.host, inputs_[i], args[i], call.args[i], 4);
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].convert) args[inputs_.size() + i] = scratch + outputs_[i].offset;
  args[n] = scratch + inner_scratch_;
  inner_->run({args, call.extents, call.host});
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].convert)
      convert(call.host, outputs_[i], call.args[inputs_.size() + i], args[inputs_.size() + i], 2);
}

void WidenedKernel::pack(uint32_t input, const std::byte* source, std::byte* target,
                         const frl_host* host) const {
  for (size_t i = 0; i < packs.size(); ++i) {
    if (packs[i].input != input) continue;
    const Argument& a = pack_sources_[i];
    if (!a.convert) return inner_->pack(input, source, target, host);
    std::vector<float> wide(static_cast<size_t>(a.n));
    convert(host, a, wide.data(), source, 4);
    return inner_->pack(input, reinterpret_cast<const std::byte*>(wide.data()), target, host);
  }
  throw frl::Failure(FRL_INVALID, "pack: this kernel asked for none of that input");
}

}  // namespace cpu
