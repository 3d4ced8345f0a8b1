// Patches: the elements that a sliding window sees, as a matrix.
#include "plugins/tpu-sim/stored.h"

namespace tpu_sim {
namespace {

// Where tap `tap` of the window at `place` looks, along three axes.
struct Spot {
  int64_t offset = 0;  // in a plane
  bool inside = true, padded = true;
};
Spot spot_of(const Geometry& g, int64_t tap, int64_t place) {
  Spot out;
  int64_t stride = 1;
  for (size_t d = 3; d-- > 0;) {
    const Sliding& a = g.axis[d];
    const int64_t at = place % a.out * a.stride - a.begin + tap % a.kernel * a.dilation;
    out.inside &= at >= 0 && at < a.in;
    out.padded &= at < a.in + a.end;
    out.offset += at * stride;
    stride *= a.in, place /= a.out, tap /= a.kernel;
  }
  return out;
}

template <class T>
float element(const Patch& p, const Spot& spot, const T* from, int64_t at) {
  switch (p.what) {
    case Patch::value:
      return spot.inside ? as_float(from[at]) : p.outside;
    case Patch::place:
      return spot.inside ? static_cast<float>(at) : p.outside;
    case Patch::inside:
      return spot.inside ? 1.0f : 0.0f;
    default:
      return spot.padded ? 1.0f : 0.0f;
  }
}

}  // namespace

void run_patch(const Patch& p, const Geometry& g, const Window& window, const std::byte* from,
               float* to) {
  const int64_t taps = g.taps(), places = g.places(), inputs = g.inputs();
  with_stored(window.type, [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(from) + p.base;
    for (int64_t r = 0; r < p.rows; ++r) {
      const int64_t channel = (p.row + r) / taps, tap = (p.row + r) % taps;
      for (int64_t c = 0; c < p.columns; ++c) {
        const int64_t plane = (p.column + c) / places;
        const Spot spot = spot_of(g, tap, (p.column + c) % places);
        const int64_t at = (plane * g.channels + channel) * inputs + spot.offset;
        to[p.by_columns ? c * p.rows + r : r * p.columns + c] = element(p, spot, x, at);
      }
    }
  });
}

}  // namespace tpu_sim
