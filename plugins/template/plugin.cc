// A whole backend: chains of f32 pointwise ops, and softmax over the last axis. Copy this folder.
#include <algorithm>
#include <cmath>
#include <functional>

#include "plugin-api/sdk/plugin.h"
#include "plugin-api/sdk/team.h"

namespace {

// ---- what it runs: a row for each op with its C++, a row for each operand, a row for each claim
// ----

struct PointwiseOp {
  uint32_t op;
  float (*apply)(float a, float b);
};
constexpr PointwiseOp kOps[] = {
    {FRL_OP_neg, [](float a, float) { return -a; }},
    {FRL_OP_exp, [](float a, float) { return std::exp(a); }},
    {FRL_OP_relu, [](float a, float) { return a > 0 || a != a ? a : 0; }},
    {FRL_OP_add, [](float a, float b) { return a + b; }},
    {FRL_OP_sub, [](float a, float b) { return a - b; }},
    {FRL_OP_mul, [](float a, float b) { return a * b; }},
};
constexpr uint32_t kMembers[] = {FRL_OP_neg, FRL_OP_exp, FRL_OP_relu,
                                 FRL_OP_add, FRL_OP_sub, FRL_OP_mul};

constexpr frl_operand kTensor = frl::operand(frl::types(FRL_F32), 0, 4);
constexpr frl_operand kPointwise[] = {
    frl::repeat(frl::broadcasting(frl::laid_out(kTensor, FRL_LAYOUT_STRIDED), FRL_BROADCAST_ANY)),
    frl::repeat(frl::result(kTensor))};
constexpr frl_operand kSoftmax[] = {frl::operand(frl::types(FRL_F32), 1, 4),
                                    frl::result(frl::operand(frl::types(FRL_F32), 1, 4))};
constexpr int64_t kLastAxis[] = {-1};
constexpr frl_choice kSoftmaxAxis[] = {{FRL_AT_softmax_axis, 1, kLastAxis}};
constexpr frl_claim softmax_claim() {
  frl_claim c = frl::claim(FRL_OP_softmax, frl::rows(kSoftmax), FRL_ERROR_ULP, 8000);
  c.choices = frl::rows(kSoftmaxAxis);
  return c;
}
constexpr frl_claim kClaims[] = {
    frl::pointwise_claim(frl::rows(kPointwise), frl::rows(kMembers), 64, 16, 4), softmax_claim()};

constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 2'000'000'000}};  // 0.5 GFLOP/s
constexpr frl_cost kCost = [] {
  frl_cost c = frl::host_cost(60'000, 15'000, 600'000, frl::rows(kRates), FRL_BASIS_ESTIMATED);
  c.to_device_ps_per_kib = c.from_device_ps_per_kib = c.readback_ps_per_kib = 150'000;
  return c;
}();

// ---- how: a Kernel keeps what it needs of the region ----

struct Pointwise final : frl::Kernel {
  struct Step {
    float (*apply)(float, float);
    size_t a, b, result;
  };
  size_t n_values, n_inputs;
  std::vector<size_t> inputs, outputs;  // value numbers
  std::vector<frl::Extents> strides;    // of the inputs, aligned to the result's axes
  std::vector<std::pair<size_t, float>> literals;
  std::vector<Step> steps;
  frl::Value shape;

  explicit Pointwise(const frl::Region& r) : n_values(r.n_values()), shape(r.output(0)) {
    for (size_t i = 0; i < r.n_inputs(); ++i) {
      const frl::Value v = r.input(i);
      frl::Extents s{};
      for (uint32_t d = 0; d < v.rank; ++d)
        s[d + shape.rank - v.rank] = v.extents[d] == 1 ? 0 : v.strides[d];
      inputs.push_back(v.id), strides.push_back(s);
    }
    for (size_t i = 0; i < r.n_outputs(); ++i) outputs.push_back(r.output(i).id);
    for (uint32_t id = 0; id < n_values; ++id)
      if (const frl::Value v = r.value(id); v.is_literal())
        std::memcpy(&literals.emplace_back(id, 0.0f).second, v.literal.data(), sizeof(float));
    for (uint32_t i = 0; i < r.n_nodes(); ++i) {
      const frl::Node n = r.node(r.body(0).first_node + i);
      const auto* op = std::ranges::find(kOps, n.op, &PointwiseOp::op);
      if (op == std::end(kOps)) throw frl::Failure(FRL_NO_BODY, "pointwise: unknown member");
      steps.push_back({op->apply, n.operands[0], n.operands.back(), n.results[0]});
    }
  }
  void run(const frl::Call& call) const override {
    frl::for_slices(call.host, shape.n_elements(), 2.0 * double(steps.size()),
                    n_values * sizeof(float), [&](int64_t begin, int64_t end, void* scratch) {
                      auto* value = static_cast<float*>(scratch);
                      for (const auto& [id, x] : literals) value[id] = x;
                      for (int64_t i = begin; i < end; ++i) {
                        for (size_t k = 0; k < inputs.size(); ++k) {
                          int64_t at = 0;
                          for (int64_t d = shape.rank, rest = i; d-- > 0;
                               rest /= shape.extents[size_t(d)])
                            at += rest % shape.extents[size_t(d)] * strides[k][size_t(d)];
                          value[inputs[k]] = call.in<float>(int(k))[at];
                        }
                        for (const Step& s : steps)
                          value[s.result] = s.apply(value[s.a], value[s.b]);
                        for (size_t k = 0; k < outputs.size(); ++k)
                          call.out<float>(int(inputs.size() + k))[i] = value[outputs[k]];
                      }
                    });
  }
};

struct Softmax final : frl::Kernel {
  frl::Value x;
  explicit Softmax(const frl::Region& r) : x(r.input(0)) {}
  void run(const frl::Call& call) const override {
    const int64_t n = x.extent(-1);
    frl::for_slices(call.host, n ? x.n_elements() / n : 0, 5.0 * double(n), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t row = begin; row < end; ++row) {
                        const float* src = call.in<float>(0) + row * n;
                        float* dst = call.out<float>(1) + row * n;
                        const float top = *std::max_element(src, src + n);
                        double sum = 0;
                        for (int64_t i = 0; i < n; ++i) sum += dst[i] = std::exp(src[i] - top);
                        for (int64_t i = 0; i < n; ++i) dst[i] = float(dst[i] / sum);
                      }
                    });
  }
};

struct Template final : frl::InlineDevice {
  using InlineDevice::InlineDevice;
  static std::span<const frl_device_row> rows() {
    static const frl_device_row row[] = {
        frl::host_device_row("template", frl::rows(kClaims), &kCost)};
    return row;
  }
  std::unique_ptr<frl::Kernel> compile(const frl::Region& region) override {
    if (region.kind() == FRL_OP_softmax) return std::make_unique<Softmax>(region);
    return std::make_unique<Pointwise>(region);
  }
};

}  // namespace

FRL_PLUGIN("org.ferrule.template", "0.1.0", Template)
