// Reference evaluation of lstm, gru and rnn, as ONNX defines them; the state stays double
// throughout.
#include <algorithm>

#include "core/base/text.h"
#include "core/op/pointwise.h"
#include "core/op/rnn.h"
#include "core/op/rules.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

using Values = std::vector<double>;

// A float op of one operand with the defaults of its attributes; no id: the value itself.
struct Activation {
  FloatFunction fn;
  RealAttributes attributes;
  explicit Activation(OpId op)
      : fn(float_function(op ? op : OpId(FRL_OP_identity))), attributes(op) {}
  double operator()(double x) const { return fn(x, 0, attributes.p); }
};

Values load_optional(Operands operands, size_t i, size_t n) {
  return i < operands.size() && operands[i] ? load<double>(*operands[i]) : Values(n);
}

// One direction of a layer: its weights, and one sequence at a time.
struct Layer {
  int64_t t, n, in, h, gates;
  const double *x, *w, *r;
  const double *bias_w, *bias_r;  // [gates * h] each
  const double* peephole;         // [3 * h]; lstm only
  double clip;
  bool flag;  // input_forget, linear_before_reset
  std::vector<Activation> activations;

  double activate(size_t i, double value) const {
    return activations[i](clip > 0 ? wide_min(wide_max(value, -clip), clip) : value);
  }
  // Row k of w times x, and of r times the state.
  double from_input(const double* input, int64_t k) const {
    double sum = 0;
    for (int64_t i = 0; i < in; ++i) sum += w[k * in + i] * input[i];
    return sum;
  }
  double from_state(const Values& state, int64_t k) const {
    double sum = 0;
    for (int64_t i = 0; i < h; ++i) sum += r[k * h + i] * state[size_t(i)];
    return sum;
  }
  // What a gate's activation is applied to.
  double gate(const double* input, const Values& state, int64_t number, int64_t unit) const {
    const int64_t k = number * h + unit;
    return from_input(input, k) + from_state(state, k) + bias_w[k] + bias_r[k];
  }
};

// The state of one sequence.
struct State {
  Values h, c;
};

void lstm_step(const Layer& layer, const double* input, State& state) {
  enum { input_gate, output_gate, forget_gate, cell_gate };
  const int64_t h = layer.h;
  const double *p_i = layer.peephole, *p_o = p_i + h, *p_f = p_o + h;
  Values next(state.h.size());
  for (int64_t u = 0; u < h; ++u) {
    double& c = state.c[size_t(u)];
    const double i = layer.activate(0, layer.gate(input, state.h, input_gate, u) + p_i[u] * c);
    const double f =
        layer.flag ? 1 - i
                   : layer.activate(0, layer.gate(input, state.h, forget_gate, u) + p_f[u] * c);
    c = f * c + i * layer.activate(1, layer.gate(input, state.h, cell_gate, u));
    const double o = layer.activate(0, layer.gate(input, state.h, output_gate, u) + p_o[u] * c);
    // The clip is for sums of gates; what the cell holds passes as it is.
    next[size_t(u)] = o * layer.activations[2](c);
  }
  state.h = std::move(next);
}

void gru_step(const Layer& layer, const double* input, State& state) {
  enum { update_gate, reset_gate, hidden_gate };
  const int64_t h = layer.h;
  Values update(state.h.size()), reset(state.h.size()), next(state.h.size());
  for (int64_t u = 0; u < h; ++u) {
    update[size_t(u)] = layer.activate(0, layer.gate(input, state.h, update_gate, u));
    reset[size_t(u)] = layer.activate(0, layer.gate(input, state.h, reset_gate, u));
  }
  Values seen = state.h;  // by the hidden gate, unless the reset comes after the product
  for (size_t u = 0; !layer.flag && u < seen.size(); ++u) seen[u] *= reset[u];
  for (int64_t u = 0; u < h; ++u) {
    const int64_t k = hidden_gate * h + u;
    const double recurrent = layer.from_state(seen, k) + layer.bias_r[k];
    const double sum = layer.from_input(input, k) + layer.bias_w[k] +
                       (layer.flag ? reset[size_t(u)] * recurrent : recurrent);
    const double z = update[size_t(u)];
    next[size_t(u)] = (1 - z) * layer.activate(1, sum) + z * state.h[size_t(u)];
  }
  state.h = std::move(next);
}

void rnn_step(const Layer& layer, const double* input, State& state) {
  Values next(state.h.size());
  for (int64_t u = 0; u < layer.h; ++u)
    next[size_t(u)] = layer.activate(0, layer.gate(input, state.h, 0, u));
  state.h = std::move(next);
}

using Step = void (*)(const Layer& layer, const double* input, State& state);

std::vector<Activation> activations_of(const OpCall& call, int64_t direction) {
  const RnnRow& row = rnn_row(call);
  const auto& list = call.attributes.list(kRnnActivations);
  std::vector<Activation> out;
  for (size_t i = 0; i < row.n_activations; ++i)
    out.emplace_back(list.empty() ? row.activations[i]
                                  : OpId(list[size_t(direction) * row.n_activations + i]));
  return out;
}

// `flag_slot` below 0: the op has no flag of its own.
Status run(const OpCall& call, Operands operands, Results results, Step step, int flag_slot) {
  const Shape &x = operands[0]->shape(), &r = operands[2]->shape();
  const int64_t t = x[0], n = x[1], in = x[2], d = r[0], h = r[2], gates = rnn_row(call).n_gates;
  const bool backwards = call.attributes.i(kRnnDirection) == 1;
  if (h == 0) return {};
  const size_t n_state = size_t(d * n * h);
  const Values xs = load<double>(*operands[0]), ws = load<double>(*operands[1]),
               rs = load<double>(*operands[2]);
  const Values bias = load_optional(operands, 3, size_t(d * 2 * gates * h));
  const Values peephole = load_optional(operands, 7, size_t(d * 3 * h));
  Values last_h = load_optional(operands, 5, n_state), last_c = load_optional(operands, 6, n_state);
  Values ys(size_t(t * d * n * h));
  for (int64_t dn = 0; dn < d * n; ++dn) {
    const int64_t side = dn / n, i = dn % n;
    const double* b = bias.data() + side * 2 * gates * h;
    const Layer layer{t,
                      n,
                      in,
                      h,
                      gates,
                      xs.data(),
                      ws.data() + side * gates * h * in,
                      rs.data() + side * gates * h * h,
                      b,
                      b + gates * h,
                      peephole.data() + side * 3 * h,
                      call.attributes.f(kRnnClip),
                      flag_slot >= 0 && call.attributes.i(uint32_t(flag_slot)) != 0,
                      activations_of(call, side)};
    const bool has_lengths = operands.size() > 4 && operands[4];
    const int64_t length = has_lengths ? operands[4]->at_i64(i) : t;
    if (length < 0 || length > t)
      return Status(Code::invalid_argument,
                    cat(call.row.name, ": want lengths in 0 .. ", t, ", got ", length));
    State state{Values(last_h.begin() + dn * h, last_h.begin() + dn * h + h),
                Values(last_c.begin() + dn * h, last_c.begin() + dn * h + h)};
    for (int64_t k = 0; k < length; ++k) {
      const int64_t place = backwards || side == 1 ? length - 1 - k : k;
      step(layer, layer.x + (place * n + i) * in, state);
      std::copy(state.h.begin(), state.h.end(), ys.begin() + (place * d * n + dn) * h);
    }
    std::copy(state.h.begin(), state.h.end(), last_h.begin() + dn * h);
    std::copy(state.c.begin(), state.c.end(), last_c.begin() + dn * h);
  }
  store(ys, results[0]);
  store(last_h, results[1]);
  if (results.size() > 2) store(last_c, results[2]);
  return {};
}

}  // namespace

Status eval_lstm(const OpCall& call, Operands operands, Results results) {
  return run(call, operands, results, lstm_step, FRL_AT_lstm_input_forget);
}

Status eval_gru(const OpCall& call, Operands operands, Results results) {
  return run(call, operands, results, gru_step, FRL_AT_gru_linear_before_reset);
}

Status eval_rnn(const OpCall& call, Operands operands, Results results) {
  return run(call, operands, results, rnn_step, -1);
}

}  // namespace ferrule
