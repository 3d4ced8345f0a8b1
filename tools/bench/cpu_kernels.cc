// Single kernels of the cpu plugin beside OpenBLAS (serial, one thread) and beside copies of
// memory, in one process and alternating. Every product is checked before its time is printed.
//   bench_cpu PLUGIN [filter]
#include <chrono>
#include <cstdio>

#include "tests/cpu/host.h"

#if FRL_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace {
using namespace host;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& fn) {
  const auto start = Clock::now();
  fn();
  return std::chrono::duration<double>(Clock::now() - start).count();
}
// The best of many runs of each, taken in turns.
std::pair<double, double> best_of(const std::function<void()>& a, const std::function<void()>& b) {
  double best_a = 1e30, best_b = 1e30;
  const auto start = Clock::now();
  for (int i = 0; i < 4000; ++i) {
    best_a = std::min(best_a, seconds_of(a));
    if (b) best_b = std::min(best_b, seconds_of(b));
    if (i >= 5 && Clock::now() - start > std::chrono::milliseconds(600)) break;
  }
  return {best_a, best_b};
}

// One kernel, recorded once with its packs made.
class Bench {
 public:
  Bench(Plugin& p, const frl_region* region, std::vector<const void*> args)
      : p_(p), kernel_(p.compile(region)) {
    if (!kernel_) {
      std::printf("  not compiled: %s\n", p.error.text);
      return;
    }
    for (uint32_t i = 0; i < kernel_->packs.n; ++i) {
      frl_pack pack;
      frl_row(&pack, sizeof pack, kernel_->packs.p, kernel_->packs.stride, i);
      packed_.emplace_back(std::aligned_alloc(64, (pack.bytes + 63) / 64 * 64), std::free);
      p.submit({kernel_, 0, 2, 0, 0, pack.input + 1, 0}, {args[pack.input], packed_.back().get()},
               {});
      args[pack.input] = packed_.back().get();
    }
    if (kernel_->scratch_bytes) {
      packed_.emplace_back(std::aligned_alloc(64, (kernel_->scratch_bytes + 63) / 64 * 64),
                           std::free);
      args.push_back(packed_.back().get());
    }
    std::vector<frl_arg> rows_of;
    for (const void* a : args)
      rows_of.push_back({uint32_t(fixed_.size()), 0, 0}), fixed_.push_back(plain(a));
    const std::vector<frl_step> steps{{kernel_, 0, uint32_t(args.size()), 0, 0, 0, 0}};
    const frl_segment s{
        {sizeof s, FRL_TAG_SEGMENT}, rows(steps), rows(rows_of), {}, rows(fixed_), 0, 0};
    p.api->record(p.queue, &s, &recording_, &p.error);
  }
  explicit operator bool() const { return recording_ != nullptr; }
  void run() {
    const frl_submit q{{sizeof q, FRL_TAG_SUBMIT}, recording_, {},     nullptr, {}, {},
                       ++p_.last_signal,           nullptr,    nullptr};
    p_.api->submit(p_.queue, &q, &p_.error);
  }

 private:
  Plugin& p_;
  frl_kernel* kernel_;
  frl_recording* recording_ = nullptr;
  std::vector<std::unique_ptr<void, void (*)(void*)>> packed_;
  std::vector<frl_binding> fixed_;
};

void gemm(Plugin& p, int64_t m, int64_t n, int64_t k, bool weight) {
  Tensor a = random(FRL_F32, {m, k}, 1), b = random(FRL_F32, {k, n}, 2), c(FRL_F32, {m, n}),
         d(FRL_F32, {m, n});
  Block block;
  const uint32_t x = block.value(FRL_F32, {m, k}),
                 y = block.value(FRL_F32, {k, n}, weight ? FRL_VALUE_PARAMETER : 0);
  const uint32_t z = block.node1(FRL_OP_matmul, {x, y}, FRL_F32, {m, n});
  Bench bench(p, block.finish(FRL_OP_matmul, {x, y}, {z}),
              {a.bytes.data(), b.bytes.data(), c.bytes.data()});
  if (!bench) return;
  bench.run();
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t at = (i * 7919) % (m * n);
    double want = 0;
    for (int64_t t = 0; t < k; ++t) want += a.at(at / n * k + t) * b.at(t * n + at % n);
    if (std::fabs(c.at(at) - want) > 1e-4 * double(k)) {
      std::printf("  wrong product\n");
      return;
    }
  }
  std::function<void()> peer;
#if FRL_HAVE_OPENBLAS
  peer = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(m), int(n), int(k), 1, a.as<float>(),
                int(k), b.as<float>(), int(n), 0, d.as<float>(), int(n));
  };
#endif
  const auto [own, other] = best_of([&] { bench.run(); }, peer);
  const double flops = 2.0 * double(m) * double(n) * double(k);
  std::printf("  gemm %5ld %5ld %5ld %-6s  own %7.1f GFLOP/s  openblas %7.1f GFLOP/s  ratio %.2f\n",
              long(m), long(n), long(k), weight ? "packed" : "", flops / own * 1e-9,
              flops / other * 1e-9, other / own);
}

void conv(Plugin& p, const char* name, int64_t c, int64_t m, int64_t size, int64_t kernel,
          int64_t stride, int64_t groups) {
  const int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  const Shape xs{1, c, size, size}, ws{m, c / groups, kernel, kernel}, ys{1, m, out, out};
  Tensor x = random(FRL_F32, xs, 1), w = random(FRL_F32, ws, 2), bias = random(FRL_F32, {m}, 3),
         y(FRL_F32, ys);
  Block k;
  const Attributes a{Attribute(Shape{stride, stride}), Attribute(Shape{1, 1}),
                     Attribute(Shape{pad, pad, pad, pad}), Attribute(groups),
                     Attribute(FRL_OP_relu)};
  const uint32_t vx = k.value(FRL_F32, xs), vw = k.value(FRL_F32, ws, FRL_VALUE_PARAMETER),
                 vb = k.value(FRL_F32, {m});
  const uint32_t vy = k.node1(FRL_OP_conv_bias_act, {vx, vw, vb}, FRL_F32, ys, a);
  Bench bench(p, k.finish(FRL_OP_conv_bias_act, {vx, vw, vb}, {vy}, a),
              {x.bytes.data(), w.bytes.data(), bias.bytes.data(), y.bytes.data()});
  if (!bench) return;
  const double own = best_of([&] { bench.run(); }, {}).first;
  const double flops = 2.0 * double(y.n()) * double(ws[1] * kernel * kernel);
  std::printf("  conv %-22s %9.1f us  %7.1f GFLOP/s\n", name, own * 1e6, flops / own * 1e-9);
}

void row_op(Plugin& p, const char* name, uint32_t op, const Attributes& attributes,
            const Shape& shape, int n_inputs) {
  Tensor x = random(FRL_F32, shape, 1), y(FRL_F32, shape), w = random(FRL_F32, {shape.back()}, 2);
  Block block;
  std::vector<uint32_t> in{block.value(FRL_F32, shape)};
  std::vector<const void*> args{x.bytes.data()};
  for (int i = 1; i < n_inputs; ++i)
    in.push_back(block.value(FRL_F32, {shape.back()})), args.push_back(w.bytes.data());
  const uint32_t z = block.node1(op, in, FRL_F32, shape, attributes);
  args.push_back(y.bytes.data());
  Bench bench(p, block.finish(op, in, {z}, attributes), args);
  if (!bench) return;
  Tensor copy(FRL_F32, shape);
  const auto [own, other] =
      best_of([&] { bench.run(); },
              [&] { std::memcpy(copy.bytes.data(), x.bytes.data(), x.bytes.size()); });
  std::printf("  %-12s %6ld x %5ld  %9.1f us  %.3f ns an element  %.2f of a copy\n", name,
              long(x.n() / shape.back()), long(shape.back()), own * 1e6, own * 1e9 / double(x.n()),
              own / other);
}

// y = tanh(a b + c) sigmoid(d) - exp(-a a), and the same without transcendentals.
void chain(Plugin& p, int64_t n, bool transcendental) {
  const Shape s{n};
  Tensor a = random(FRL_F32, s, 1), b = random(FRL_F32, s, 2), c = random(FRL_F32, s, 3),
         d = random(FRL_F32, s, 4), y(FRL_F32, s);
  Block k;
  const auto v = [&] { return k.value(FRL_F32, s); };
  const uint32_t va = v(), vb = v(), vc = v(), vd = v();
  const auto op = [&](uint32_t id, std::vector<uint32_t> in) {
    return k.node1(id, in, FRL_F32, s);
  };
  const uint32_t sum = op(FRL_OP_add, {op(FRL_OP_mul, {va, vb}), vc});
  uint32_t out;
  if (transcendental) {
    const uint32_t left = op(FRL_OP_mul, {op(FRL_OP_tanh, {sum}), op(FRL_OP_sigmoid, {vd})});
    out = op(FRL_OP_sub, {left, op(FRL_OP_exp, {op(FRL_OP_neg, {op(FRL_OP_mul, {va, va})})})});
  } else {
    const uint32_t one = k.literal(of(FRL_F32, {}, {1}));
    out = op(FRL_OP_div, {op(FRL_OP_sub, {op(FRL_OP_mul, {sum, vd}), va}),
                          op(FRL_OP_add, {op(FRL_OP_mul, {vb, vb}), one})});
  }
  Bench bench(p, k.finish(FRL_OP_pointwise, {va, vb, vc, vd}, {out}),
              {a.bytes.data(), b.bytes.data(), c.bytes.data(), d.bytes.data(), y.bytes.data()});
  if (!bench) return;
  const double own = best_of([&] { bench.run(); }, {}).first;
  std::printf("  %s n=%-9ld %10.2f us  %.3f ns an element\n", transcendental ? "EWT" : "EWA",
              long(n), own * 1e6, own * 1e9 / double(n));
}

void unary(Plugin& p, const char* name, uint32_t op) {
  const Shape s{4096};
  Tensor x = random(FRL_F32, s, 1), y(FRL_F32, s);
  Block k;
  const uint32_t v = k.value(FRL_F32, s);
  Bench bench(p, k.finish(FRL_OP_pointwise, {v}, {k.node1(op, {v}, FRL_F32, s)}),
              {x.bytes.data(), y.bytes.data()});
  if (!bench) return;
  std::printf("  %-10s %.3f ns an element\n", name,
              best_of([&] { bench.run(); }, {}).first * 1e9 / 4096);
}

constexpr std::pair<const char*, uint32_t> kUnary[] = {{"exp", FRL_OP_exp},
                                                       {"log", FRL_OP_log},
                                                       {"tanh", FRL_OP_tanh},
                                                       {"erf", FRL_OP_erf},
                                                       {"sigmoid", FRL_OP_sigmoid},
                                                       {"gelu", FRL_OP_gelu},
                                                       {"gelu_tanh", FRL_OP_gelu_tanh},
                                                       {"silu", FRL_OP_silu},
                                                       {"sin", FRL_OP_sin},
                                                       {"softplus", FRL_OP_softplus},
                                                       {"sqrt", FRL_OP_sqrt},
                                                       {"relu", FRL_OP_relu},
                                                       {"expm1", FRL_OP_expm1},
                                                       {"log1p", FRL_OP_log1p},
                                                       {"mish", FRL_OP_mish}};

}  // namespace

int main(int argc, char** argv) {
  const std::string filter = argc > 2 ? argv[2] : "";
  Plugin p(argc > 1 ? argv[1] : "plugins/cpu.so", {}, 1);
  if (!p.why.empty()) return std::printf("%s\n", p.why.c_str()), 1;
  const auto wants = [&](const char* name) { return filter.empty() || filter == name; };
  if (wants("gemm")) {
    const int64_t shapes[][3] = {{128, 768, 768},    {128, 3072, 768}, {128, 768, 3072},
                                 {512, 3072, 768},   {256, 256, 256},  {512, 512, 512},
                                 {1024, 1024, 1024}, {64, 64, 64},     {1, 4096, 4096},
                                 {1, 768, 768},      {8, 768, 768}};
    for (const auto& s : shapes)
      for (bool weight : {true, false}) gemm(p, s[0], s[1], s[2], weight);
  }
  if (wants("one")) conv(p, "1x1 512->2048 7", 512, 2048, 7, 1, 1, 1);
  if (wants("conv")) {
    conv(p, "3x3 64->64 56", 64, 64, 56, 3, 1, 1);
    conv(p, "1x1 256->64 56", 256, 64, 56, 1, 1, 1);
    conv(p, "1x1 64->256 56", 64, 256, 56, 1, 1, 1);
    conv(p, "3x3 128->128 28", 128, 128, 28, 3, 1, 1);
    conv(p, "3x3 512->512 7", 512, 512, 7, 3, 1, 1);
    conv(p, "7x7 s2 3->64 224", 3, 64, 224, 7, 2, 1);
    conv(p, "7x7 3->64 112", 3, 64, 112, 7, 1, 1);
    conv(p, "1x1 512->2048 7", 512, 2048, 7, 1, 1, 1);
    conv(p, "1x1 256->1024 14", 256, 1024, 14, 1, 1, 1);
    conv(p, "1x1 1024->256 14", 1024, 256, 14, 1, 1, 1);
    conv(p, "3x3 s2 512->512 14", 512, 512, 14, 3, 2, 1);
    conv(p, "3x3 s2 64->64 112", 64, 64, 112, 3, 2, 1);
    conv(p, "depthwise 3x3 144 56", 144, 144, 56, 3, 1, 144);
    conv(p, "depthwise 3x3 s2 144 56", 144, 144, 56, 3, 2, 144);
    conv(p, "depthwise 3x3 576 14", 576, 576, 14, 3, 1, 576);
    conv(p, "1x1 24->144 56", 24, 144, 56, 1, 1, 1);
  }
  if (wants("rows")) {
    for (const Shape& s : {Shape{128, 768}, Shape{4096, 768}}) {
      row_op(p, "softmax", FRL_OP_softmax, {Attribute(-1)}, s, 1);
      row_op(p, "layer_norm", FRL_OP_layer_norm, {Attribute(1), Attribute(1e-5)}, s, 3);
      row_op(p, "rms_norm", FRL_OP_rms_norm, {Attribute(1), Attribute(1e-5)}, s, 2);
    }
  }
  if (wants("chain"))
    for (int64_t n : {8, 1024, 65536, 1 << 24})
      for (bool t : {false, true}) chain(p, n, t);
  if (wants("unary"))
    for (const auto& [name, op] : kUnary) unary(p, name, op);
}
