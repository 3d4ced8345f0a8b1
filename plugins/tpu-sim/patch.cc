// Patches: the elements that a sliding window sees, as a matrix.
#include <algorithm>

#include "plugins/tpu-sim/stored.h"

namespace tpu_sim {
namespace {

// Places side by side on the innermost axis, seen through one tap.
struct Run {
  int64_t first, count;  // places
  int64_t offset;        // of element 0 of the operand's row, in the flat operand
  bool inside, padded;   // the row is
};

// Where a tap looks along one axis.
int64_t spot(const frl::WindowAxis& a, int64_t tap, int64_t place) {
  return place * a.stride - a.begin + tap * a.dilation;
}

// fn(column, run) for the columns of one row of the patch, run by run.
template <class Fn>
void each_run(const Patch& p, const Geometry& g, int64_t row, Fn&& fn) {
  const frl::WindowAxis &depth = g.axis[0], &height = g.axis[1], &width = g.axis[2];
  const int64_t channel = row / g.taps(), tap = row % g.taps();
  const int64_t tap_depth = tap / width.kernel / height.kernel,
                tap_height = tap / width.kernel % height.kernel;
  for (int64_t c = 0; c < p.columns;) {
    int64_t rest = p.column + c;
    Run run{rest % width.out, 0, 0, true, true};
    rest /= width.out;
    run.count = std::min(width.out - run.first, p.columns - c);
    const int64_t y = spot(height, tap_height, rest % height.out);
    rest /= height.out;
    const int64_t z = spot(depth, tap_depth, rest % depth.out);
    const int64_t plane = rest / depth.out * g.channels + channel;
    run.inside = y >= 0 && y < height.in && z >= 0 && z < depth.in;
    run.padded = y < height.in + height.end && z < depth.in + depth.end;
    run.offset = ((plane * depth.in + z) * height.in + y) * width.in;
    fn(c, run);
    c += run.count;
  }
}

template <class T>
float element(const Patch& p, bool inside, bool padded, const T* from, int64_t at) {
  switch (p.what) {
    case Patch::value:
      return inside ? as_float(from[at]) : p.outside;
    case Patch::place:
      return inside ? static_cast<float>(at) : p.outside;
    case Patch::inside:
      return inside ? 1.0f : 0.0f;
    default:
      return padded ? 1.0f : 0.0f;
  }
}

}  // namespace

void run_patch(const Patch& p, const Geometry& g, const Window& window, const std::byte* from,
               float* to) {
  const frl::WindowAxis& width = g.axis[2];
  with_stored(window.type, [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(from) + p.base;
    for (int64_t r = 0; r < p.rows; ++r)
      each_run(p, g, p.row + r, [&](int64_t c, const Run& run) {
        float* target = p.by_columns ? to + c * p.rows + r : to + r * p.columns + c;
        const int64_t step = p.by_columns ? p.rows : 1;
        int64_t at = spot(width, (p.row + r) % width.kernel, run.first);
        for (int64_t i = 0; i < run.count; ++i, at += width.stride)
          target[i * step] = element(p, run.inside && at >= 0 && at < width.in,
                                     run.padded && at < width.in + width.end, x, run.offset + at);
      });
  });
}

}  // namespace tpu_sim
