// What lstm, gru and rnn differ in.
#pragma once

#include "core/op/refuse.h"

namespace ferrule {

struct RnnRow {
  OpId op;
  int64_t n_gates;
  size_t n_activations;  // of one direction
  OpId activations[3];   // unless the attribute names others
};

inline constexpr RnnRow kRnnRows[] = {
    {FRL_OP_lstm, 4, 3, {FRL_OP_sigmoid, FRL_OP_tanh, FRL_OP_tanh}},
    {FRL_OP_gru, 3, 2, {FRL_OP_sigmoid, FRL_OP_tanh}},
    {FRL_OP_rnn, 1, 1, {FRL_OP_tanh}},
};

inline const RnnRow& rnn_row(const OpCall& call) { return kRnnRows[call.row.id - FRL_OP_lstm]; }

// Slots that all three share.
constexpr uint32_t kRnnDirection = FRL_AT_lstm_direction, kRnnActivations = FRL_AT_lstm_activations,
                   kRnnClip = FRL_AT_lstm_clip;

}  // namespace ferrule
