// Recurrent layers.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};

// An activation and the constants that the core's op has when it is an attribute of a recurrent op.
struct Activation {
  const char* name;
  OpId op;
  double alpha, beta;
};
constexpr Activation kActivations[] = {
    {"Relu", FRL_OP_relu, 0, 0},
    {"Tanh", FRL_OP_tanh, 0, 0},
    {"Sigmoid", FRL_OP_sigmoid, 0, 0},
    {"LeakyRelu", FRL_OP_leaky_relu, 0.01f, 0},
    {"ThresholdedRelu", FRL_OP_thresholded_relu, 1, 0},
    {"HardSigmoid", FRL_OP_hard_sigmoid, 0.2f, 0.5},
    {"Elu", FRL_OP_elu, 1, 0},
    {"Softsign", FRL_OP_softsign, 0, 0},
    {"Softplus", FRL_OP_softplus, 0, 0},
};

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if ((a[i] | 32) != (b[i] | 32)) return false;
  return true;
}

// The op ids; empty where the model leaves them to the default. Constants are taken in order by the
// activations that have any.
Ints activations(ModelNode& n) {
  Ints out;
  const auto names = n.texts("activations");
  const auto alphas = n.reals("activation_alpha"), betas = n.reals("activation_beta");
  for (size_t i = 0; i < names.size(); ++i) {
    const Activation* found = nullptr;
    for (const Activation& each : kActivations)
      if (same_name(each.name, names[i])) found = &each;
    if (!found) {
      n.unsupported(cat("activation '", names[i], "' is not supported"));
      continue;
    }
    const bool fits =
        (found->alpha == 0 || i >= alphas.size() || float(alphas[i]) == float(found->alpha)) &&
        (found->beta == 0 || i >= betas.size() || float(betas[i]) == float(found->beta));
    if (!fits)
      n.unsupported(cat("activation '", names[i], "' with other constants than its defaults"));
    out.push_back(int64_t(found->op));
  }
  return out;
}

struct Recurrent {
  OpId op;
  uint32_t direction, activations, clip;
  size_t n_states;  // initial ones: h, c
};

void recurrent(ModelNode& n, const Recurrent& kind, Attributes attributes, size_t first_extra) {
  const bool batch_first = n.opset() >= 14 && n.i("layout", 0);
  const int64_t direction = n.choice("direction", "forward", kDirections);
  attributes.set_i(kind.direction, direction).set_f(kind.clip, n.f("clip", 0));
  attributes.set_list(kind.activations, activations(n));
  const auto to_time = [&](Val x) { return batch_first && x.ok() ? transpose(x, {1, 0, 2}) : x; };
  const Val x = n.in(0);
  if (!n.want(x.rank() == 3 && n.in(2).rank() == 3, "x, w and r of three axes")) return;
  const int64_t hidden = n.in(2).dim(2), directions = direction == 2 ? 2 : 1;
  if (n.i("hidden_size", hidden) != hidden)
    return n.fail(cat("hidden_size: want ", hidden, ", got ", n.i("hidden_size", hidden)));
  std::vector<Val> operands = {to_time(x), n.in(1), n.in(2), n.maybe(3),
                               cast(n.maybe(4), Type::i32)};
  for (size_t i = 0; i < kind.n_states; ++i) operands.push_back(to_time(n.maybe(5 + i)));
  for (size_t i = first_extra; i < n.n_in(); ++i) operands.push_back(n.maybe(i));
  if (n.failed()) return;
  const auto results = n.block().emit_all(kind.op, attributes, operands);
  const Val y = results[0];
  if (!n.want(y.dim(1) == directions, "weights for each direction")) return;
  n.out(0, batch_first ? transpose(y, {2, 0, 1, 3}) : y);
  for (size_t i = 1; i < results.size(); ++i) n.out(i, to_time(results[i]));
}

void lstm(ModelNode& n) {
  Attributes attributes(FRL_OP_lstm);
  attributes.set_i(FRL_AT_lstm_input_forget, n.i("input_forget", 0) != 0);
  recurrent(n, {FRL_OP_lstm, FRL_AT_lstm_direction, FRL_AT_lstm_activations, FRL_AT_lstm_clip, 2},
            attributes, 7);
}
void gru(ModelNode& n) {
  Attributes attributes(FRL_OP_gru);
  attributes.set_i(FRL_AT_gru_linear_before_reset, n.i("linear_before_reset", 0) != 0);
  recurrent(n, {FRL_OP_gru, FRL_AT_gru_direction, FRL_AT_gru_activations, FRL_AT_gru_clip, 1},
            attributes, 6);
}
void rnn(ModelNode& n) {
  recurrent(n, {FRL_OP_rnn, FRL_AT_rnn_direction, FRL_AT_rnn_activations, FRL_AT_rnn_clip, 1},
            Attributes(FRL_OP_rnn), 6);
}

#define RECURRENT \
  "activation_alpha activation_beta activations clip direction hidden_size layout output_sequence"

constexpr ImportRow kRows[] = {
    {"", "LSTM", 1, kEver, lstm, "3..8>3", RECURRENT " input_forget"},
    {"", "GRU", 1, kEver, gru, "3..6>2", RECURRENT " linear_before_reset"},
    {"", "RNN", 1, kEver, rnn, "3..6>2", RECURRENT},
};

}  // namespace

std::span<const ImportRow> rnn_rows() { return kRows; }

}  // namespace ferrule
