// lstm, gru and rnn: one product for the inputs of all steps, then one for the state of each step.
#include <algorithm>

#include "plugins/cpu/activation.h"
#include "plugins/cpu/gemm.h"

namespace cpu {
namespace {

struct RnnRow {
  uint32_t op;
  int64_t gates, activations;  // activations of one direction
  int64_t fallback[3];
};
constexpr RnnRow kRows[] = {
    {FRL_OP_lstm, 4, 3, {FRL_OP_sigmoid, FRL_OP_tanh, FRL_OP_tanh}},
    {FRL_OP_gru, 3, 2, {FRL_OP_sigmoid, FRL_OP_tanh, 0}},
    {FRL_OP_rnn, 1, 1, {FRL_OP_tanh, 0, 0}},
};
// Slots that all three share.
constexpr uint32_t kDirection = FRL_AT_lstm_direction, kActivations = FRL_AT_lstm_activations,
                   kClip = FRL_AT_lstm_clip;

template <class T>
class Recurrent final : public frl::Kernel {
 public:
  Recurrent(const Context& context, const Request& request, const RnnRow& row)
      : isa_(context.isa),
        row_(row),
        x_(request.operand(0)),
        w_(request.operand(1)),
        r_(request.operand(2)),
        bias_(request.operand(3)),
        lengths_(request.operand(4)),
        h0_(request.operand(5)),
        c0_(request.operand(6)),
        peephole_(request.operand(7)),
        y_(request.result(0)),
        last_h_(request.result(1)),
        last_c_(request.result(2)) {
    const frl::Value x = request.operand(0).value, r = request.operand(2).value;
    t_ = x.extents[0], n_ = x.extents[1], in_ = x.extents[2], d_ = r.extents[0], h_ = r.extents[2];
    backwards_ = request.attribute_i(kDirection) == 1;
    clip_ = static_cast<T>(request.attribute_f(kClip));
    flag_ =
        row.op != FRL_OP_rnn &&
        request.attribute_i(row.op == FRL_OP_lstm ? uint32_t{FRL_AT_lstm_input_forget}
                                                  : uint32_t{FRL_AT_gru_linear_before_reset}) != 0;
    const std::vector<int64_t> names = request.attribute_list(kActivations);
    for (int64_t i = 0; i < d_ * row.activations; ++i)
      activations_.push_back(find_activation(
          *isa_, names.empty() ? row.fallback[i % row.activations] : names[static_cast<size_t>(i)],
          sizeof(T) == 8 ? kWorkF64 : kWorkF32));
    // Gates of all steps from the input, of one step from the state; two states; what gru resets.
    const int64_t gates = row.gates * h_;
    scratch_bytes =
        static_cast<uint64_t>(t_ * n_ * gates + n_ * gates + 3 * n_ * h_ + packed_recurrence()) *
        sizeof(T);
    scratch_ = static_cast<int>(request.region().n_present_inputs() + request.region().n_outputs());
  }

  void run(const frl::Call& call) const override {
    if (lengths_.present())
      for (int64_t i = 0; i < n_; ++i) {
        const int32_t length = lengths_.in<int32_t>(call)[i];
        if (length < 0 || length > t_)
          throw frl::Failure(FRL_INVALID, "recurrence: want lengths in 0 .. " + std::to_string(t_) +
                                              ", got " + std::to_string(length));
      }
    if (y_.present()) std::fill_n(y_.out<T>(call), t_ * d_ * n_ * h_, T{0});
    for (int64_t side = 0; side < d_; ++side) direction(call, side);
  }

 private:
  struct Buffers {
    T *from_input, *from_state, *state, *cell, *seen, *recurrence;
  };
  int64_t width() const { return panel_width<T>(*isa_, row_.gates * h_); }
  // Elements of r in panels, which every step of several sequences uses; 0: not worth it.
  int64_t packed_recurrence() const {
    return n_ > 1 && t_ > 1 ? packed_size(h_, row_.gates * h_, width()) : 0;
  }
  void pack_recurrence(const T* r, T* panels) const {
    const int64_t gates = row_.gates * h_;
    const StridedSide<T> side{isa_, r, 1, h_};
    for (int64_t at = 0; at < gates; at += width())
      side.fill(&side, panels + at * h_, 0, h_, at, std::min(width(), gates - at), width());
  }
  // c[m, rows] = a[m, k] b[rows, k]^T; packed: b in panels, or null.
  void product(const frl_host* host, const T* a, const T* b, T* c, int64_t m, int64_t rows,
               int64_t k, int64_t ldc, const T* packed = nullptr) const {
    const StridedSide<T> x{isa_, a, 1, k}, y{isa_, b, 1, k};
    if (m == 1) {
      // One sequence: every gate reads its row once.
      frl::for_slices(host, rows, touch_ns(static_cast<double>(k) * sizeof(T)), 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t i = begin; i < end; ++i)
                          c[i] = isa_->gemm<T>().dot(a, b + i * k, k);
                      });
      return;
    }
    const Side<T> columns = packed ? Side<T>{.packed = packed} : y.side();
    const int64_t wide = packed ? width() : panel_width<T>(*isa_, rows);
    run_gemm(host, Gemm<T>{isa_, m, rows, k, x.side(), columns, wide, c, ldc, {}});
  }
  T clipped(T x) const { return clip_ > 0 ? (x > clip_ ? clip_ : (x < -clip_ ? -clip_ : x)) : x; }
  void activate(int64_t side, int64_t i, T* x, int64_t n) const {
    if (clip_ > 0)
      for (int64_t k = 0; k < n; ++k) x[k] = clipped(x[k]);
    activate_whole(side, i, x, n);
  }
  // The cell's value is never clipped.
  void activate_whole(int64_t side, int64_t i, T* x, int64_t n) const {
    const Activation& a = activations_[static_cast<size_t>(side * row_.activations + i)];
    if (a.fn) a.fn(x, x, x, x, n, a.attributes);
  }
  int64_t length_of(const frl::Call& call, int64_t i) const {
    return lengths_.present() ? lengths_.in<int32_t>(call)[i] : t_;
  }

  void direction(const frl::Call& call, int64_t side) const {
    const int64_t gates = row_.gates * h_, state = n_ * h_;
    Buffers b;
    b.from_input = call.out<T>(scratch_), b.from_state = b.from_input + t_ * n_ * gates;
    b.state = b.from_state + n_ * gates, b.cell = b.state + state, b.seen = b.cell + state;
    b.recurrence = packed_recurrence() ? b.seen + state : nullptr;
    if (b.recurrence) pack_recurrence(r_.in<T>(call) + side * gates * h_, b.recurrence);
    const auto begin_with = [&](T* to, const Place& from) {
      if (from.present())
        std::copy_n(from.in<T>(call) + side * state, state, to);
      else
        std::fill_n(to, state, T{0});
    };
    begin_with(b.state, h0_), begin_with(b.cell, c0_);
    product(call.host, x_.in<T>(call), w_.in<T>(call) + side * gates * in_, b.from_input, t_ * n_,
            gates, in_, gates);
    const T* bias = bias_.present() ? bias_.in<T>(call) + side * 2 * gates : nullptr;
    for (int64_t row = 0; bias && row < t_ * n_; ++row)
      for (int64_t k = 0; k < gates; ++k) b.from_input[row * gates + k] += bias[k];
    for (int64_t step = 0; step < t_; ++step) {
      advance(call, side, step, b, bias ? bias + gates : nullptr);
      write(call, side, step, b);
    }
    if (last_h_.present()) std::copy_n(b.state, state, last_h_.out<T>(call) + side * state);
    if (last_c_.present()) std::copy_n(b.cell, state, last_c_.out<T>(call) + side * state);
  }

  // Where step `step` of sequence i reads and writes; -1: the sequence is over.
  int64_t place(const frl::Call& call, int64_t side, int64_t step, int64_t i) const {
    const int64_t length = length_of(call, i);
    if (step >= length) return -1;
    return backwards_ || side == 1 ? length - 1 - step : step;
  }
  void write(const frl::Call& call, int64_t side, int64_t step, const Buffers& b) const {
    for (int64_t i = 0; y_.present() && i < n_; ++i)
      if (const int64_t at = place(call, side, step, i); at >= 0)
        std::copy_n(b.state + i * h_, h_, y_.out<T>(call) + ((at * d_ + side) * n_ + i) * h_);
  }

  void advance(const frl::Call& call, int64_t side, int64_t step, const Buffers& b,
               const T* bias) const {
    const int64_t gates = row_.gates * h_;
    const T* r = r_.in<T>(call) + side * gates * h_;
    // gru without linear_before_reset resets the state before the hidden gate's product.
    const int64_t rows = row_.op == FRL_OP_gru && !flag_ ? 2 * h_ : gates;
    product(call.host, b.state, r, b.from_state, n_, rows, h_, gates, b.recurrence);
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t at = place(call, side, step, i);
      if (at < 0) continue;
      T* input = b.from_input + (at * n_ + i) * gates;
      const T* recurrent = b.from_state + i * gates;
      T *state = b.state + i * h_, *cell = b.cell + i * h_;
      if (row_.op == FRL_OP_lstm)
        lstm(side, input, recurrent, bias, state, cell,
             peephole_.present() ? peephole_.in<T>(call) + side * 3 * h_ : nullptr);
      else if (row_.op == FRL_OP_gru)
        gru(side, input, recurrent, bias, state, b.seen + i * h_, r + 2 * h_ * h_);
      else
        plain(side, input, recurrent, bias, state);
    }
  }
  static void add(T* to, const T* from, const T* bias, int64_t n) {
    for (int64_t k = 0; k < n; ++k) to[k] += from[k];
    for (int64_t k = 0; bias && k < n; ++k) to[k] += bias[k];
  }

  // Gates i o f c; peepholes i o f.
  void lstm(int64_t side, T* g, const T* recurrent, const T* bias, T* state, T* cell,
            const T* peep) const {
    add(g, recurrent, bias, 4 * h_);
    T *in = g, *out = g + h_, *forget = g + 2 * h_, *next = g + 3 * h_;
    for (int64_t u = 0; peep && u < h_; ++u)
      in[u] += peep[u] * cell[u], forget[u] += peep[2 * h_ + u] * cell[u];
    activate(side, 0, in, h_), activate(side, 0, forget, h_), activate(side, 1, next, h_);
    for (int64_t u = 0; u < h_; ++u) {
      const T f = flag_ ? 1 - in[u] : forget[u];
      cell[u] = f * cell[u] + in[u] * next[u];
      if (peep) out[u] += peep[h_ + u] * cell[u];
      next[u] = cell[u];
    }
    activate(side, 0, out, h_), activate_whole(side, 2, next, h_);
    for (int64_t u = 0; u < h_; ++u) state[u] = out[u] * next[u];
  }
  // Gates z r h.
  void gru(int64_t side, T* g, const T* recurrent, const T* bias, T* state, T* seen,
           const T* r_hidden) const {
    add(g, recurrent, bias, 2 * h_);
    activate(side, 0, g, 2 * h_);
    T *update = g, *reset = g + h_, *hidden = g + 2 * h_;
    for (int64_t u = 0; u < h_; ++u) seen[u] = reset[u] * state[u];
    for (int64_t u = 0; u < h_; ++u) {
      const T b = bias ? bias[2 * h_ + u] : T{0};
      if (flag_)
        hidden[u] += reset[u] * (recurrent[2 * h_ + u] + b);
      else
        hidden[u] += isa_->gemm<T>().dot(seen, r_hidden + u * h_, h_) + b;
    }
    activate(side, 1, hidden, h_);
    for (int64_t u = 0; u < h_; ++u) state[u] = (1 - update[u]) * hidden[u] + update[u] * state[u];
  }
  void plain(int64_t side, T* g, const T* recurrent, const T* bias, T* state) const {
    add(g, recurrent, bias, h_);
    activate(side, 0, g, h_);
    std::copy_n(g, h_, state);
  }

  const Isa* isa_;
  RnnRow row_;
  Place x_, w_, r_, bias_, lengths_, h0_, c0_, peephole_, y_, last_h_, last_c_;
  int64_t t_, n_, in_, d_, h_;
  bool backwards_, flag_;
  T clip_;
  std::vector<Activation> activations_;
  int scratch_;
};

}  // namespace

KernelPtr make_recurrent(const Context& context, const Request& request) {
  const RnnRow& row = *std::ranges::find(kRows, request.kind(), &RnnRow::op);
  return with_float(request.operand(0).value.type, [&]<class T>(T) -> KernelPtr {
    return std::make_unique<Recurrent<T>>(context, request, row);
  });
}

}  // namespace cpu
