#include "plugins/tpu-sim/rows.h"

#include <algorithm>
#include <cmath>

namespace tpu_sim {

Rows::Rows(Emitter& out, const frl::Value& x, const std::vector<bool>& along) : out_(out), x_(x) {
  for (const bool worked : {false, true})
    for (uint32_t d = 0; d < x.rank; ++d)
      if (along[d] == worked) {
        order_.push_back(d);
        (worked ? columns_ : n_rows_) *= x.extents[d];
      }
}

Window Rows::in_rows(const frl::Operand& operand) const {
  Window w = out_.window_of(operand);
  const frl::Extents over = strides_over(operand.value, w.strides, x_.rank);
  w.rank = x_.rank, w.extents = {}, w.strides = {};
  for (size_t d = 0; d < order_.size(); ++d)
    w.extents[d] = x_.extents[order_[d]], w.strides[d] = over[order_[d]];
  return w;
}

int64_t tile_rows(const Emitter& out, int64_t n_rows, int64_t columns, int64_t full,
                  int64_t single) {
  const int64_t spare = 2 * kBufferWords * (full + single);  // what rounding up may take
  const int64_t each = 2 * (full * columns + single);
  const int64_t fits = (out.free_words() - spare) / std::max<int64_t>(each, 1);
  if (fits < 1)
    throw frl::Failure(FRL_NO_ROOM, "rows: want at most " +
                                        std::to_string((out.free_words() - spare) / (2 * full)) +
                                        " elements, got " + std::to_string(columns));
  // Enough tiles that loads and stores lie beside the work.
  constexpr int64_t kTileWords = 64 * 1024;
  const int64_t wanted = std::max<int64_t>(kTileWords / std::max<int64_t>(columns, 1), 1);
  return std::min({fits, std::max(wanted / kSublanes * kSublanes, std::min(wanted, kSublanes)),
                   std::max<int64_t>(n_rows, 1)});
}

std::vector<bool> last_axes(const frl::Value& x, int64_t n) {
  std::vector<bool> along(x.rank);
  for (uint32_t d = 0; d < x.rank; ++d) along[d] = int64_t(x.rank - d) <= n;
  return along;
}
std::vector<bool> one_axis(const frl::Value& x, int64_t axis_from_end) {
  std::vector<bool> along(x.rank);
  along[static_cast<size_t>(x.rank + axis_from_end)] = true;
  return along;
}

Lane lane(uint32_t op, BufferId to, int64_t rows, int64_t columns, LaneOperand a, LaneOperand b) {
  Lane out{op, to, {a, b, {}}, rows, columns};
  if (b.buffer == kNoBuffer) out.in[1].form = a.form;
  out.in[2].form = a.form;
  return out;
}

void emit_softmax(Emitter& out, const Block& at, bool logarithm, BufferId other) {
  const LaneOperand x{at.x, Form::full}, word{at.word, Form::column};
  out.emit(Fold{Folding::max, at.x, at.word, at.rows, at.columns});
  out.emit(lane(FRL_OP_sub, at.x, at.rows, at.columns, x, word));
  const BufferId powers = logarithm ? other : at.x;
  out.emit(lane(FRL_OP_exp, powers, at.rows, at.columns, x));
  out.emit(Fold{Folding::add, powers, at.word, at.rows, at.columns});
  if (logarithm) out.emit(lane(FRL_OP_log, at.word, 1, at.rows, {at.word, Form::full}));
  out.emit(lane(logarithm ? FRL_OP_sub : FRL_OP_div, at.x, at.rows, at.columns, x, word));
}

void lower_softmax(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0);
  const bool logarithm = region.kind() == FRL_OP_log_softmax;
  if (x.value.n_elements() == 0) return;
  const Rows rows(out, x.value,
                  one_axis(x.value, region.attribute_i(logarithm ? uint32_t(FRL_AT_log_softmax_axis)
                                                                 : uint32_t(FRL_AT_softmax_axis))));
  const WindowId from = out.window(rows.in_rows(x)),
                 to = out.window(rows.in_rows(region.result(0)));
  const int64_t columns = rows.columns(), most = rows.tile(logarithm ? 2 : 1);
  const Pair block = out.pair(most * columns), word = out.pair(most);
  const Pair other = logarithm ? out.pair(most * columns) : Pair{};
  for (int64_t r = 0, turn = 0; r < rows.n_rows(); r += most, ++turn) {
    const int64_t n = std::min(most, rows.n_rows() - r);
    out.emit(Load{block[turn], from, 0, r * columns, n * columns});
    emit_softmax(out, {block[turn], word[turn], n, columns}, logarithm, other[turn]);
    out.emit(Store{block[turn], to, 0, r * columns, n * columns});
  }
}

void lower_reduce(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), y = region.result(0);
  const bool places = region.kind() == FRL_OP_arg_reduce;
  std::vector<bool> along(x.value.rank);
  if (places)
    along = one_axis(x.value, region.attribute_i(FRL_AT_arg_reduce_axis));
  else
    for (int64_t axis : region.attribute_list(FRL_AT_reduce_axes))
      along[static_cast<size_t>(x.value.rank + axis)] = true;
  const int64_t by =
      region.attribute_i(places ? uint32_t(FRL_AT_arg_reduce_by) : uint32_t(FRL_AT_reduce_by));
  const Folding folding = places ? by == FRL_OP_max ? Folding::place_of_max : Folding::place_of_min
                          : by == FRL_OP_add ? Folding::add
                          : by == FRL_OP_mul ? Folding::mul
                          : by == FRL_OP_max ? Folding::max
                                             : Folding::min;
  if (y.value.n_elements() == 0) return;
  const Rows rows(out, x.value, along);
  const int64_t columns = rows.columns(), most = rows.tile(1);
  constexpr int64_t kMostPlaces = int64_t{1} << 24;  // that a float tells apart
  if (places && columns > kMostPlaces)
    throw frl::Failure(FRL_NO_SHAPE, "arg_reduce: want at most 2^24 elements of the axis, got " +
                                         std::to_string(columns));
  const Pair block = out.pair(most * columns), word = out.pair(most);
  const WindowId from = out.window(rows.in_rows(x));
  Window flat = out.window_of(y);
  flat.rank = 1, flat.extents = {rows.n_rows()}, flat.strides = {1};
  const WindowId to = out.window(flat);
  const bool last = places && region.attribute_i(FRL_AT_arg_reduce_last) != 0;
  for (int64_t r = 0, turn = 0; r < rows.n_rows(); r += most, ++turn) {
    const int64_t n = std::min(most, rows.n_rows() - r);
    out.emit(Load{block[turn], from, 0, r * columns, n * columns});
    out.emit(Fold{folding, block[turn], word[turn], n, columns, last});
    out.emit(Store{word[turn], to, 0, r, n});
  }
}

}  // namespace tpu_sim
