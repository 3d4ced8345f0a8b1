#include <algorithm>
#include <cstring>

#include "plugins/cpu/pointwise.h"

namespace cpu {
namespace {

constexpr uint32_t kMaxSlots = 1024;
constexpr int64_t kArenaBytes = 256 * 1024;

// Repeats one element of `width` bytes n times.
void fill(std::byte* target, const std::byte* element, int64_t width, int64_t n) {
  const auto spread = [&]<class T>(T value) {
    std::memcpy(&value, element, sizeof value);
    std::fill_n(reinterpret_cast<T*>(target), n, value);
  };
  switch (width) {
    case 1:
      return spread(uint8_t{});
    case 2:
      return spread(uint16_t{});
    case 4:
      return spread(uint32_t{});
    default:
      return spread(uint64_t{});
  }
}
void copy_strided(std::byte* target, const std::byte* source, int64_t stride, int64_t width,
                  int64_t n) {
  const auto each = [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(source);
    T* y = reinterpret_cast<T*>(target);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * stride];
  };
  switch (width) {
    case 1:
      return each(uint8_t{});
    case 2:
      return each(uint16_t{});
    case 4:
      return each(uint32_t{});
    default:
      return each(uint64_t{});
  }
}

// One worker's view of a run.
class TileRun {
 public:
  TileRun(const TileProgram& program, const frl::Call& call, std::byte* arena)
      : p_(program), call_(call), arena_(arena) {
    for (const auto& [slot, buffer] : p_.buffers) at_[slot] = arena + buffer * p_.buffer_bytes;
    staging_ = arena + p_.n_buffers * p_.buffer_bytes;
    const int64_t n = std::min(p_.tile, p_.row);
    for (const Leaf& leaf : p_.leaves)
      if (leaf.form == Leaf::splat) spread(leaf, n);
  }

  void tile(int64_t row, int64_t column, int64_t n) {
    const int64_t first = row * p_.row + column;
    for (const Leaf& leaf : p_.leaves)
      if (leaf.form != Leaf::splat) load(leaf, first, n);
    for (const TileOutput& out : p_.outputs)
      if (!out.convert) at_[out.slot] = call_.args[out.argument] + first * out.bytes;
    for (const TileStep& s : p_.steps) s.fn(at_[s.dst], at_[s.a], at_[s.b], at_[s.c], n, s.p);
    for (const TileOutput& out : p_.outputs)
      if (out.convert)
        out.convert(call_.args[out.argument] + first * out.bytes, at_[out.slot], nullptr, nullptr,
                    n, nullptr);
  }

 private:
  void spread(const Leaf& leaf, int64_t n) {
    const std::byte* element = leaf.place.at(call_);
    alignas(8) std::byte converted[8];
    int64_t width = frl::element_bytes(leaf.type);
    if (leaf.convert) {
      leaf.convert(converted, element, nullptr, nullptr, 1, nullptr);
      element = converted, width = sizeof(float);
    }
    fill(at_[leaf.slot], element, width, n);
  }
  void load(const Leaf& leaf, int64_t first, int64_t n) {
    const int64_t width = frl::element_bytes(leaf.type);
    std::byte* memory = leaf.place.at(call_);
    std::byte* buffer = at_[leaf.slot];
    if (leaf.form == Leaf::direct) {
      if (!leaf.convert)
        at_[leaf.slot] = memory + first * width;
      else
        leaf.convert(buffer, memory + first * width, nullptr, nullptr, n, nullptr);
      return;
    }
    if (leaf.form == Leaf::by_rows) {
      int64_t at[FRL_MAX_RANK];
      at_[leaf.slot] = memory + find(leaf, first, at) * width;
      return;
    }
    std::byte* target = leaf.convert ? staging_ : buffer;
    gather(leaf, target, memory, first, n);
    if (leaf.convert) leaf.convert(buffer, staging_, nullptr, nullptr, n, nullptr);
  }
  // The coordinates of element `first` and its offset in the leaf, in elements.
  int64_t find(const Leaf& leaf, int64_t first, int64_t (&at)[FRL_MAX_RANK]) const {
    int64_t offset = 0;
    for (size_t d = p_.axes.size(); d-- > 0; first /= p_.axes[d]) {
      at[d] = first % p_.axes[d];
      offset += at[d] * leaf.strides[d];
    }
    return offset;
  }
  // Row by row, walking the coordinates of the merged axes.
  void gather(const Leaf& leaf, std::byte* target, const std::byte* memory, int64_t first,
              int64_t n) const {
    const int64_t width = frl::element_bytes(leaf.type);
    const size_t last = p_.axes.size() - 1;
    int64_t at[FRL_MAX_RANK], offset = find(leaf, first, at);
    const int64_t inner = leaf.strides[last];
    while (n > 0) {
      const int64_t run = std::min(n, p_.axes[last] - at[last]);
      const std::byte* source = memory + offset * width;
      if (inner == 1)
        std::memcpy(target, source, static_cast<size_t>(run * width));
      else if (inner == 0)
        fill(target, source, width, run);
      else
        copy_strided(target, source, inner, width, run);
      target += run * width, n -= run;
      offset += run * inner, at[last] += run;
      for (size_t d = last; at[d] == p_.axes[d] && d > 0; --d) {
        offset += leaf.strides[d - 1] - at[d] * leaf.strides[d];
        at[d] = 0, ++at[d - 1];
      }
    }
  }

  const TileProgram& p_;
  const frl::Call& call_;
  std::byte* arena_;
  std::byte* staging_;
  std::byte* at_[kMaxSlots];
};

}  // namespace

void run_tiles(const TileProgram& program, const frl::Call& call) {
  if (program.row == 0 || program.rows == 0) return;
  const int64_t tiles_a_row = (program.row + program.tile - 1) / program.tile;
  frl::for_slices(call.host, program.rows * tiles_a_row, program.tile_ns, 0,
                  [&](int64_t begin, int64_t end, void*) {
                    alignas(64) std::byte arena[kArenaBytes];
                    TileRun run(program, call, arena);
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t column = i % tiles_a_row * program.tile;
                      run.tile(i / tiles_a_row, column,
                               std::min(program.tile, program.row - column));
                    }
                  });
}

}  // namespace cpu
