// Shape rule of the recurrent ops.
#include "core/op/rnn.h"

#include "core/base/text.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

Status check_activations(const OpCall& call, size_t n) {
  const std::vector<int64_t>& list = call.attributes.list(kRnnActivations);
  if (!list.empty() && list.size() != n)
    return refuse(call, cat(n, " activations"), list_text(list));
  for (const int64_t id : list)
    if (id != 0 && !activation_row(id))
      return refuse(call, "activations that are pointwise ops of one float", list_text(list));
  if (!(call.attributes.f(kRnnClip) >= 0))
    return refuse(call, "a clip of 0 or more", number_text(call.attributes.f(kRnnClip)));
  return {};
}

}  // namespace

Types infer_rnn(const OpCall& call) {
  constexpr int64_t both = 2;
  const RnnRow& row = rnn_row(call);
  const Type type = type_of(call, 0);
  if (shape_of(call, 0).rank() != 3 || shape_of(call, 2).rank() != 3)
    return refuse(call, "x [t,n,in], w [d,gates*h,in] and r [d,gates*h,h]");
  FRL_TRY(want_exact(call, 2, 2));
  const Dim t = shape_of(call, 0).dim(0), n = shape_of(call, 0).dim(1),
            in = shape_of(call, 0).dim(2);
  const Dim d{call.attributes.i(kRnnDirection) == both ? 2 : 1, 0};
  const Dim h = shape_of(call, 2).dim(2);
  const Dim gates{row.n_gates * h.extent, 0};
  FRL_TRY(want_operand(call, 1, type, {d, gates, in}));
  FRL_TRY(want_operand(call, 2, type, {d, gates, h}));
  FRL_TRY(want_operand(call, 3, type, {d, {2 * gates.extent, 0}}));
  FRL_TRY(want_operand(call, 4, Type::i32, {n}));
  FRL_TRY(want_operand(call, 5, type, {d, n, h}));
  FRL_TRY(want_operand(call, 6, type, {d, n, h}));
  FRL_TRY(want_operand(call, 7, type, {d, {3 * h.extent, 0}}));
  FRL_TRY(check_activations(call, row.n_activations * size_t(d.extent)));
  FRL_LET(const TensorType y, make_type(call, type, {t, d, n, h}));
  FRL_LET(const TensorType last, make_type(call, type, {d, n, h}));
  std::vector<TensorType> out = {y, last};
  out.resize(call.row.n_results, last);
  return out;
}

}  // namespace ferrule
