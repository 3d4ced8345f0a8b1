// Running a program: what each instruction does to VMEM and HBM.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugin-api/sdk/error.h"
#include "plugins/tpu-sim/stored.h"

namespace tpu_sim {
namespace {

// Calls fn(offset, step, first, count) for each run of the innermost axis in elements
// [begin, begin + n) of a window: `count` elements from `offset` on, `step` apart, of which the
// first is number `first`.
template <class Fn>
void walk(const Window& w, int64_t begin, int64_t n, Fn&& fn) {
  if (n == 0) return;
  frl::Extents at{};
  int64_t rest = begin, offset = 0;
  for (uint32_t d = w.rank; d-- > 0; rest /= w.extents[d]) {
    at[d] = rest % w.extents[d];
    offset += at[d] * w.strides[d];
  }
  const uint32_t last = w.rank ? w.rank - 1 : 0;
  const int64_t row = w.rank ? w.extents[last] : 1, step = w.rank ? w.strides[last] : 0;
  for (int64_t done = 0; done < n;) {
    const int64_t count = std::min(row - at[last], n - done);
    fn(offset, step, done, count);
    done += count;
    offset += count * step, at[last] += count;
    for (uint32_t d = last; d > 0 && at[d] == w.extents[d]; --d) {
      offset += w.strides[d - 1] - at[d] * w.strides[d];
      at[d] = 0, ++at[d - 1];
    }
  }
}

class Machinery {
 public:
  Machinery(const Program& program, std::byte* const* args, float* vmem)
      : program_(program), args_(args), vmem_(vmem) {}

  void run(const Load& i) const {
    const Window& w = program_.windows[i.window];
    float* to = words(i.to);
    with_stored(w.type, [&]<class T>(T) {
      const T* from = reinterpret_cast<const T*>(memory(w)) + i.base;
      walk(w, i.begin, i.n, [&](int64_t at, int64_t step, int64_t first, int64_t n) {
        for (int64_t k = 0; k < n; ++k) to[first + k] = as_float(from[at + k * step]);
      });
    });
  }
  void run(const Store& i) const {
    const Window& w = program_.windows[i.window];
    const float* from = words(i.from);
    with_stored(w.type, [&]<class T>(T) {
      T* to = reinterpret_cast<T*>(memory(w)) + i.base;
      walk(w, i.begin, i.n, [&](int64_t at, int64_t step, int64_t first, int64_t n) {
        for (int64_t k = 0; k < n; ++k) put(from[first + k], to + at + k * step);
      });
    });
  }
  void run(const Patch& i) const {
    const Window& w = program_.windows[i.window];
    run_patch(i, program_.geometries[i.geometry], w, memory(w), words(i.to));
  }
  void run(const Sample& i) const {
    const Window& w = program_.windows[i.window];
    const auto* scales = reinterpret_cast<const double*>(memory(program_.windows[i.scales]));
    run_sample(i, w, memory(w), scales, words(i.to));
  }
  void run(const Move& i) const {
    const Window &from = program_.windows[i.from], &to = program_.windows[i.to];
    switch (frl::element_bytes(to.type)) {
      case 1:
        return move<uint8_t>(i, from, to);
      case 2:
        return move<uint16_t>(i, from, to);
      case 4:
        return move<uint32_t>(i, from, to);
      default:
        return move<uint64_t>(i, from, to);
    }
  }
  void run(const Take& i) const {
    const Window &from = program_.windows[i.from], &to = program_.windows[i.to];
    const Window& indices = program_.windows[i.indices];
    const auto block = static_cast<size_t>(i.inner * frl::element_bytes(from.type));
    std::byte* target = memory(to);
    for (int64_t o = 0; o < i.outer; ++o)
      for (int64_t k = 0; k < i.n_indices; ++k, target += block) {
        int64_t index = index_at(indices, k);
        if (index < 0) index += i.extent;
        if (index < 0 || index >= i.extent)
          throw frl::Failure(FRL_INVALID, "gather: want an index below " +
                                              std::to_string(i.extent) + ", got " +
                                              std::to_string(index_at(indices, k)));
        std::memcpy(target, memory(from) + static_cast<size_t>(o * i.extent + index) * block,
                    block);
      }
  }
  void run(const Multiply& i) const { run_multiply(i, words(i.acc), words(i.a), words(i.b)); }
  void run(const Lane& i) const {
    const auto at = [&](size_t k) {
      return words(i.in[k].buffer == kNoBuffer ? i.in[0].buffer : i.in[k].buffer);
    };
    run_lane(i, words(i.to), {at(0), at(1), at(2)});
  }
  void run(const Fold& i) const {
    for (int64_t r = 0; r < i.rows; ++r) words(i.to)[r] = fold(i, words(i.from) + r * i.columns);
  }
  void run(const Fill& i) const { std::fill_n(words(i.to), i.n, i.value); }
  void run(const Hide& i) const {
    for (int64_t r = 0; r < i.rows; ++r)
      for (int64_t c = 0; c < i.columns; ++c) {
        const int64_t behind = r + i.place - c;
        if ((i.causal && behind < 0) || (i.window > 0 && behind > i.window))
          words(i.to)[r * i.columns + c] += -INFINITY;
      }
  }

 private:
  float* words(BufferId id) const { return vmem_ + program_.buffers[id].at; }
  std::byte* memory(const Window& w) const {
    if (w.argument >= 0) return args_[w.argument];
    return const_cast<std::byte*>(program_.literals[w.literal].data());  // never stored to
  }
  int64_t index_at(const Window& w, int64_t k) const {
    if (w.type == FRL_I64) return reinterpret_cast<const int64_t*>(memory(w))[k];
    return reinterpret_cast<const int32_t*>(memory(w))[k];
  }
  template <class T>
  void move(const Move& i, const Window& from, const Window& to) const {
    const T* source = reinterpret_cast<const T*>(memory(from)) + i.from_base;
    T* target = reinterpret_cast<T*>(memory(to)) + i.to_base;
    // Both windows have the same extents, so their runs are the same.
    walk(to, 0, to.n_elements(), [&](int64_t at, int64_t step, int64_t first, int64_t n) {
      walk(from, first, n,
           [&](int64_t source_at, int64_t source_step, int64_t part, int64_t count) {
             for (int64_t k = 0; k < count; ++k)
               target[at + (part + k) * step] = source[source_at + k * source_step];
           });
    });
  }

  static float combine(Folding by, float a, float b) {
    switch (by) {
      case Folding::add:
        return a + b;
      case Folding::mul:
        return a * b;
      case Folding::max:
        return a > b || a != a ? a : b;
      default:
        return a < b || a != a ? a : b;
    }
  }
  static float fold(const Fold& i, const float* row) {
    if (i.by >= Folding::place_of_max) return place(i, row);
    constexpr float kOfNothing[] = {0, 1, -INFINITY, INFINITY};
    // As the lanes do: columns kLanes apart one after the other, then halves.
    float lane[kLanes];
    const int64_t n = std::min(i.columns, kLanes);
    if (n == 0) return kOfNothing[size_t(i.by)];
    std::copy_n(row, n, lane);
    for (int64_t c = n; c < i.columns; ++c)
      lane[c % kLanes] = combine(i.by, lane[c % kLanes], row[c]);
    for (int64_t left = n; left > 1; left = (left + 1) / 2)
      for (int64_t c = 0; c < left / 2; ++c)
        lane[c] = combine(i.by, lane[c], lane[c + (left + 1) / 2]);
    return lane[0];
  }
  // NaN is the extreme.
  static float place(const Fold& i, const float* row) {
    int64_t best = 0;
    for (int64_t c = 1; c < i.columns; ++c) {
      const float x = row[c], top = row[best];
      const bool beats = x != x ? top == top : i.by == Folding::place_of_max ? x > top : x < top;
      const bool ties = x == top || (x != x && top != top);
      if (beats || (ties && i.last)) best = c;
    }
    return static_cast<float>(best);
  }

  const Program& program_;
  std::byte* const* args_;
  float* vmem_;
};

}  // namespace

void execute(const Program& program, std::byte* const* args, float* vmem) {
  const Machinery machinery(program, args, vmem);
  for (const Instruction& each : program.code)
    std::visit([&](const auto& i) { machinery.run(i); }, each);
}

}  // namespace tpu_sim
