// attention: softmax(q k^T scale + mask) v, one block of queries at a time over blocks of keys,
// with running maxima and sums, so that no more than a block of scores exists.
#include <algorithm>

#include "plugins/cpu/gemm.h"

namespace cpu {
namespace {

constexpr int64_t kQueries = 96, kKeys = 512;
enum Mask : int64_t { kNone, kCausal, kAdditive, kBoolean };

// Element offsets of an operand's matrices for each member of the batch; extents of 1 repeat.
std::vector<int64_t> batch_offsets(const frl::Value& v, const frl::Value& y, int64_t batch) {
  const frl::Extents strides = dense_strides(v);
  std::vector<int64_t> out;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t at = 0, rest = b;
    for (uint32_t d = y.rank - 2; d-- > 0; rest /= y.extents[d]) {
      const int64_t axis = static_cast<int64_t>(d) - static_cast<int64_t>(y.rank - v.rank);
      if (axis >= 0 && v.extents[static_cast<size_t>(axis)] != 1)
        at += rest % y.extents[d] * strides[static_cast<size_t>(axis)];
    }
    out.push_back(at);
  }
  return out;
}

template <class T>
class Attention final : public frl::Kernel {
 public:
  Attention(const Context& context, const Request& request)
      : isa_(context.isa),
        q_(request.operand(0)),
        k_(request.operand(1)),
        v_(request.operand(2)),
        mask_(request.operand(3)),
        y_(request.result(0)) {
    const frl::Value q = request.operand(0).value, k = request.operand(1).value,
                     v = request.operand(2).value;
    const frl::Value y = request.result(0).value, mask = request.operand(3).value;
    s_ = q.extent(-2), t_ = k.extent(-2), d_ = q.extent(-1), e_ = v.extent(-1);
    for (uint32_t i = 0; i + 2 < y.rank; ++i) batch_ *= y.extents[i];
    kind_ = request.attribute_i(FRL_AT_attention_mask);
    const double scale = request.attribute_f(FRL_AT_attention_scale);
    window_ = request.attribute_i(FRL_AT_attention_window);
    cap_ = static_cast<T>(request.attribute_f(FRL_AT_attention_soft_cap));
    scale_ = static_cast<T>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(d_)));
    q_at_ = batch_offsets(q, y, batch_), k_at_ = batch_offsets(k, y, batch_),
    v_at_ = batch_offsets(v, y, batch_);
    if (kind_ != kAdditive && kind_ != kBoolean) return;
    mask_at_ = batch_offsets(mask, y, batch_);
    const frl::Extents strides = dense_strides(mask);
    mask_row_ = mask.rank >= 2 && mask.extent(-2) != 1 ? strides[mask.rank - 2] : 0;
    mask_column_ = mask.rank >= 1 && mask.extent(-1) != 1 ? 1 : 0;
  }

  void run(const frl::Call& call) const override {
    if (s_ == 0 || e_ == 0) return;
    const int64_t blocks = (s_ + kQueries - 1) / kQueries, rows = std::min(s_, kQueries);
    const uint64_t bytes =
        gemm_bytes(rows) + static_cast<uint64_t>(rows * (kKeys + 2) + 64) * sizeof(T);
    const double ns = static_cast<double>(rows * t_) * (static_cast<double>(d_ + e_) / 20 + 0.6);
    frl::for_slices(call.host, batch_ * blocks, ns, bytes,
                    [&](int64_t begin, int64_t end, void* scratch) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % blocks * kQueries;
                        block(call, static_cast<size_t>(i / blocks), first,
                              std::min(s_, first + kQueries), static_cast<T*>(scratch));
                      }
                    });
  }

 private:
  Gemm<T> score_product(int64_t rows, int64_t keys) const {
    return {isa_, rows, keys, d_, {}, {}, panel_width<T>(*isa_, keys), nullptr, kKeys, {}};
  }
  Gemm<T> value_product(int64_t rows, int64_t keys) const {
    return {isa_, rows, e_, keys, {}, {}, panel_width<T>(*isa_, e_), nullptr, e_, {}};
  }
  uint64_t gemm_bytes(int64_t rows) const {
    const int64_t keys = std::min(t_, kKeys);
    const uint64_t bytes = std::max(GemmPlan<T>(score_product(rows, keys), 1).scratch_bytes(),
                                    GemmPlan<T>(value_product(rows, keys), 1).scratch_bytes());
    return (bytes + 63) / 64 * 64;
  }
  static void run_alone(const Gemm<T>& g, void* scratch) {
    const GemmPlan<T> plan(g, 1);
    for (int64_t task = 0; task < plan.n_tasks(); ++task) plan.run_task(g, task, scratch);
  }

  // Queries [q0, q1) of one member of the batch.
  void block(const frl::Call& call, size_t b, int64_t q0, int64_t q1, T* scratch) const {
    const int64_t rows = q1 - q0;
    T* scores = scratch + gemm_bytes(std::min(s_, kQueries)) / sizeof(T);
    T* best = scores + rows * kKeys;
    double sums[kQueries];
    T* y = y_.out<T>(call) + (static_cast<int64_t>(b) * s_ + q0) * e_;
    std::fill_n(y, rows * e_, T{0});
    if (t_ == 0) return;  // the sum of nothing
    std::fill_n(best, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(sums, rows, 0.0);
    const int64_t end = kind_ == kCausal ? std::clamp<int64_t>(q1 + t_ - s_, 0, t_) : t_;
    // Blocks that no query of this one sees are left out.
    const int64_t begin = window_ ? std::clamp<int64_t>(q0 + t_ - s_ - window_, 0, t_) : 0;
    for (int64_t k0 = begin / kKeys * kKeys; k0 < end; k0 += kKeys) {
      const int64_t k1 = std::min(end, k0 + kKeys);
      score(call, b, q0, q1, k0, k1, scores, scratch);
      for (int64_t i = 0; i < rows; ++i) {
        T* row = scores + i * kKeys;
        mask_row(call, b, row, q0 + i, k0, k1);
        normalise(row, k1 - k0, y + i * e_, best[i], sums[i]);
      }
      mix(call, b, rows, k0, k1, scores, y, scratch);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const T scale = static_cast<T>(1 / sums[i]);  // no key at all: 0 / 0
      for (int64_t j = 0; j < e_; ++j) y[i * e_ + j] *= scale;
    }
  }

  void score(const frl::Call& call, size_t b, int64_t q0, int64_t q1, int64_t k0, int64_t k1,
             T* scores, T* scratch) const {
    const T* q = q_.in<T>(call) + q_at_[b] + q0 * d_;
    const T* k = k_.in<T>(call) + k_at_[b] + k0 * d_;
    if (is_short(q1 - q0)) {
      for (int64_t i = 0; i < q1 - q0; ++i)
        for (int64_t j = 0; j < k1 - k0; ++j)
          scores[i * kKeys + j] = isa_->gemm<T>().dot(q + i * d_, k + j * d_, d_);
      return;
    }
    const StridedSide<T> a{isa_, q, 1, d_}, c{isa_, k, 1, d_};
    Gemm<T> g = score_product(q1 - q0, k1 - k0);
    g.a = a.side(), g.b = c.side(), g.c = scores;
    run_alone(g, scratch);
  }
  void mix(const frl::Call& call, size_t b, int64_t rows, int64_t k0, int64_t k1, const T* weights,
           T* y, T* scratch) const {
    const T* v = v_.in<T>(call) + v_at_[b] + k0 * e_;
    if (is_short(rows)) {
      for (int64_t i = 0; i < rows; ++i)
        isa_->gemm<T>().add_rows(y + i * e_, weights + i * kKeys, 1, v, e_, k1 - k0, e_);
      return;
    }
    const StridedSide<T> a{isa_, weights, 1, kKeys}, c{isa_, v, e_, 1};
    Gemm<T> g = value_product(rows, k1 - k0);
    g.a = a.side(), g.b = c.side(), g.c = y, g.accumulate = true;
    run_alone(g, scratch);
  }
  // Too few queries to pay for packing keys and values.
  static bool is_short(int64_t rows) { return rows <= 4; }

  // Scales and masks the scores of query i against keys [k0, k1).
  void mask_row(const frl::Call& call, size_t b, T* row, int64_t i, int64_t k0, int64_t k1) const {
    const int64_t n = k1 - k0;
    for (int64_t j = 0; j < n; ++j) row[j] *= scale_;
    if (cap_ != 0)
      for (int64_t j = 0; j < n; ++j) row[j] = cap_ * std::tanh(row[j] / cap_);
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    if (window_) std::fill_n(row, std::clamp<int64_t>(i + t_ - s_ - window_ - k0, 0, n), kNever);
    if (kind_ == kCausal) {
      for (int64_t j = std::clamp<int64_t>(i + t_ - s_ + 1 - k0, 0, n); j < n; ++j) row[j] = kNever;
    } else if (kind_ == kAdditive) {
      const T* mask = mask_.in<T>(call) + mask_at_[b] + i * mask_row_ + k0 * mask_column_;
      for (int64_t j = 0; j < n; ++j) row[j] += mask[j * mask_column_];
    } else if (kind_ == kBoolean) {
      const uint8_t* mask =
          mask_.in<uint8_t>(call) + mask_at_[b] + i * mask_row_ + k0 * mask_column_;
      for (int64_t j = 0; j < n; ++j) row[j] = mask[j * mask_column_] ? row[j] : kNever;
    }
  }

  // Scores become exponentials; what was summed so far is brought to the new maximum.
  void normalise(T* row, int64_t n, T* y, T& best, double& sum) const {
    T most = best;
    if constexpr (std::is_same_v<T, float>) {
      const float here = isa_->top(row, n);
      most = here > most || here != here ? here : most;
    } else {
      for (int64_t j = 0; j < n; ++j) most = row[j] > most || row[j] != row[j] ? row[j] : most;
    }
    if (most == -std::numeric_limits<T>::infinity()) {
      std::fill_n(row, n, T{0});
      return;
    }
    const T fade = std::exp(best - most);
    if (fade != 1)
      for (int64_t j = 0; j < e_; ++j) y[j] *= fade;
    sum *= static_cast<double>(fade);
    best = most;
    if constexpr (std::is_same_v<T, float>) {
      sum += isa_->exp_row(row, n, most);
    } else {
      for (int64_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - most);
    }
  }

  const Isa* isa_;
  Place q_, k_, v_, mask_, y_;
  int64_t batch_ = 1, s_, t_, d_, e_, kind_, mask_row_ = 0, mask_column_ = 0;
  int64_t window_ = 0;  // 0: all keys
  T scale_, cap_ = 0;   // 0: no cap
  std::vector<int64_t> q_at_, k_at_, v_at_, mask_at_;
};

}  // namespace

KernelPtr make_attention(const Context& context, const Request& request) {
  return with_float(request.result(0).value.type, [&]<class T>(T) -> KernelPtr {
    return std::make_unique<Attention<T>>(context, request);
  });
}

}  // namespace cpu
