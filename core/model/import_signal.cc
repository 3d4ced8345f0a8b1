// Fourier transforms, windows, mel weights.
#include <cmath>
#include <numbers>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

Val dft(ModelNode& n, Val x, int64_t axis, bool inverse, bool onesided, int64_t length) {
  if (!x.ok()) return x;
  Attributes attributes(FRL_OP_dft);
  attributes.set_i(FRL_AT_dft_axis, from_end(axis, x.rank())).set_i(FRL_AT_dft_inverse, inverse);
  attributes.set_i(FRL_AT_dft_onesided, onesided).set_i(FRL_AT_dft_length, length);
  return n.block().emit(FRL_OP_dft, attributes, {x});
}

void fourier(ModelNode& n) {
  const Val x = n.in(0);
  const auto length = n.known_integer(1, 0);
  // Opset 20 made the axis an input and moved its default.
  const int64_t axis = n.opset() < 20 ? n.i("axis", 1) : n.known_integer(2, -2);
  if (n.has(1) && !n.failed() && length < 1)
    return n.fail(cat("dft_length: want 1 or more, got ", length));
  n.out(0,
        dft(n, x, n.axis(axis, x.rank()), n.i("inverse", 0) != 0, n.i("onesided", 0) != 0, length));
}

// Frames gathered from the signal, times the window, each transformed.
void short_time_fourier(ModelNode& n) {
  Val x = n.in(0);
  const auto step = n.known_integer(1, 0);
  Val window = n.maybe(2);
  const int64_t length = n.has(3) ? n.known_integer(3, 0) : window.dim(0);
  if (n.failed()) return;
  if (x.rank() == 2) x = unsqueeze(x, {2});
  const bool fits = x.rank() == 3 && step > 0 && length > 0 && length <= x.dim(1) &&
                    (!window.ok() || window.dim(0) == length);
  if (!n.want(fits, "a signal [n, length, 1 or 2] of one frame or more")) return;
  const int64_t frames = (x.dim(1) - length) / step + 1;
  if (frames > INT32_MAX / length || !n.block().may_make(frames * length * 8)) return;
  Tensor places(TensorType{Type::i64, Shape{frames, length}});
  for (int64_t i = 0; i < frames * length; ++i)
    places.mutable_as<int64_t>()[size_t(i)] = i / length * step + i % length;
  Val framed = gather(x, n.block().made(std::move(places), n.out_name(0)), 1);
  if (window.ok()) framed = framed * reshape(window, {length, 1});
  n.out(0, dft(n, framed, 2, false, n.i("onesided", 1) != 0, 0));
}

// sum of c[k] * cos(2 pi k i / n)
void cosine_window(ModelNode& n) {
  static constexpr double kHamming = 25.0 / 46;
  static constexpr double kCosines[][3] = {
      {0.5, -0.5, 0}, {kHamming, kHamming - 1, 0}, {0.42, -0.5, 0.08}};
  const auto size = n.known_integer(0, 0);
  const Type type = n.type_of(n.i("output_datatype", 1));
  const bool periodic = n.i("periodic", 1) != 0;
  if (n.failed()) return;
  if (size < 0 || size > INT32_MAX) return n.fail(cat("size: want 0 to 2^31 - 1, got ", size));
  if (!n.block().may_make(size * size_bytes(type))) return;
  Tensor out(TensorType{type, Shape{size}});
  const double turn =
      2 * std::numbers::pi / double(std::max<int64_t>(periodic ? size : size - 1, 1));
  const double* c = kCosines[n.row().arg];
  for (int64_t i = 0; i < size; ++i)
    out.set_f64(i,
                c[0] + c[1] * std::cos(turn * double(i)) + c[2] * std::cos(2 * turn * double(i)));
  n.out(0, n.block().made(std::move(out), n.out_name(0)));
}

// Triangles over the spectrum's bins, equally far apart on the mel scale.
void mel_weights(ModelNode& n) {
  const auto bands = n.known_integer(0, 0), length = n.known_integer(1, 0),
             rate = n.known_integer(2, 0);
  const double low = n.known_number(3, 0), high = n.known_number(4, 0);
  const Type type = n.type_of(n.i("output_datatype", 1));
  if (n.failed()) return;
  if (bands < 1 || length < 1 || rate < 1 || bands > 1 << 20 || length > 1 << 30)
    return n.fail("want numbers of bands, places and samples a second of 1 or more");
  const int64_t bins = length / 2 + 1;
  if (!n.block().may_make(bins * bands * 8)) return;
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double from = to_mel(low), step = (to_mel(high) - from) / double(bands + 2);
  const auto bin = [&](int64_t i) {
    const double hertz = 700 * (std::pow(10, (from + step * double(i)) / 2595) - 1);
    return std::floor(double(length + 1) * hertz / double(rate));
  };
  Tensor out(TensorType{type, Shape{bins, bands}});
  for (int64_t band = 0; band < bands; ++band) {
    const double lower = bin(band), centre = bin(band + 1), upper = bin(band + 2);
    for (int64_t i = 0; i < bins; ++i) {
      const double at = double(i);
      if (centre == lower && at == centre) out.set_f64(i * bands + band, 1);
      if (centre != lower && at >= lower && at <= centre)
        out.set_f64(i * bands + band, (at - lower) / (centre - lower));
      if (upper != centre && at >= centre && at < upper)
        out.set_f64(i * bands + band, (upper - at) / (upper - centre));
    }
  }
  n.out(0, n.block().made(std::move(out), n.out_name(0)));
}

constexpr ImportRow kRows[] = {
    {"", "DFT", 17, kEver, fourier, "1..2>1 20:1..3>1", "axis inverse onesided"},
    {"", "STFT", 17, kEver, short_time_fourier, "2..4>1", "onesided"},
    {"", "HannWindow", 17, kEver, cosine_window, "1>1", "output_datatype periodic", 0},
    {"", "HammingWindow", 17, kEver, cosine_window, "1>1", "output_datatype periodic", 1},
    {"", "BlackmanWindow", 17, kEver, cosine_window, "1>1", "output_datatype periodic", 2},
    {"", "MelWeightMatrix", 17, kEver, mel_weights, "5>1", "output_datatype"},
};

}  // namespace

std::span<const ImportRow> signal_rows() { return kRows; }

}  // namespace ferrule
