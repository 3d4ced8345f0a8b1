// frl::WindowAxis windows: patches of a tensor as matrices, and the pools that fold them.
#include <algorithm>
#include <cmath>

#include "plugins/tpu-sim/rows.h"

namespace tpu_sim {
namespace {

constexpr float kNoPlace = 1 << 24;  // beyond every place that a float tells apart

// One pool: columns are all places of all planes, rows the taps; laid out place by place.
class Pool {
 public:
  explicit Pool(Emitter& out)
      : out_(out),
        region_(out.region()),
        is_max_(region_.kind() == FRL_OP_max_pool),
        x_(region_.operand(0)),
        y_(region_.result(0)),
        places_(is_max_ ? region_.result(1) : frl::Operand{}) {
    const frl::Value& shape = y_.present() ? y_.value : places_.value;
    const auto kernel = region_.attribute_list(FRL_AT_max_pool_kernel);
    geometry_ = {
        frl::read_window(region_.attributes(), FRL_AT_max_pool_strides, x_.value, shape, kernel)};
    n_ = shape.n_elements();
    if (places_.present() && x_.value.n_elements() >= int64_t(kNoPlace))
      throw frl::Failure(FRL_NO_SHAPE, "max_pool: want fewer than 2^24 elements for their places");
  }

  void emit() {
    if (n_ == 0) return;
    id_ = out_.geometry(geometry_);
    const int64_t taps = geometry_.taps();
    const float outside = is_max_ ? -INFINITY : 0.0f;
    one_ = out_.scalar(1), none_ = out_.scalar(kNoPlace), lost_ = out_.scalar(-1);
    const int64_t full = 2 + places_.present(), spare = 16 * kBufferWords;
    most_ = (out_.free_words() - spare) / (2 * (full * taps + 2));
    most_ = std::min({most_, n_, std::max<int64_t>(64 * 1024 / std::max<int64_t>(taps, 1), 8)});
    if (most_ < 1)
      throw frl::Failure(FRL_NO_ROOM, "pool: want fewer taps, got " + std::to_string(taps));
    values_ = out_.pair(most_ * taps), other_ = out_.pair(most_ * taps);
    if (places_.present()) third_ = out_.pair(most_ * taps);
    word_ = out_.pair(most_), count_ = out_.pair(most_);
    for (int64_t begin = 0, turn = 0; begin < n_; begin += most_, ++turn) {
      const int64_t n = std::min(most_, n_ - begin);
      emit_patch(values_[turn], Patch::value, begin, n, outside);
      if (is_max_)
        emit_max(begin, n, turn);
      else
        emit_mean(begin, n, turn);
    }
  }

 private:
  void emit_patch(BufferId to, Patch::What what, int64_t begin, int64_t n, float outside) {
    Window w = out_.window_of(x_);
    out_.emit(
        Patch{to, out_.window(w), id_, 0, 0, geometry_.taps(), begin, n, what, true, outside});
  }
  void store(BufferId from, const frl::Operand& to, int64_t begin, int64_t n) {
    if (!to.present()) return;
    Window w = out_.window_of(to);
    w.rank = 1, w.extents = {n_}, w.strides = {1};
    out_.emit(Store{from, out_.window(w), 0, begin, n});
  }

  void emit_mean(int64_t begin, int64_t n, int64_t turn) {
    const bool pads = region_.attribute_i(FRL_AT_avg_pool_count_pads) != 0;
    emit_patch(other_[turn], pads ? Patch::padded : Patch::inside, begin, n, 0);
    const BufferId sum = word_[turn], count = count_[turn];
    const LaneOperand counts{count, Form::full};
    out_.emit(Fold{Folding::add, values_[turn], sum, n, geometry_.taps()});
    out_.emit(Fold{Folding::add, other_[turn], count, n, geometry_.taps()});
    out_.emit(lane(FRL_OP_max, count, 1, n, counts, {one_, Form::scalar}));
    out_.emit(lane(FRL_OP_div, sum, 1, n, {sum, Form::full}, counts));
    store(sum, y_, begin, n);
  }

  // The first place that holds the extreme; NaN is the extreme.
  void emit_max(int64_t begin, int64_t n, int64_t turn) {
    const int64_t taps = geometry_.taps();
    const BufferId most = word_[turn];
    out_.emit(Fold{Folding::max, values_[turn], most, n, taps});
    store(most, y_, begin, n);
    if (!places_.present()) return;
    const LaneOperand values{values_[turn], Form::full}, same{other_[turn], Form::full};
    emit_patch(third_[turn], Patch::place, begin, n, kNoPlace);
    out_.emit(lane(FRL_OP_equal, other_[turn], n, taps, values, {most, Form::column}));
    out_.emit(lane(FRL_OP_is_nan, values_[turn], n, taps, values));
    out_.emit(lane(FRL_OP_logical_or, other_[turn], n, taps, same, values));
    Lane choose = lane(FRL_OP_select, third_[turn], n, taps, same, {third_[turn], Form::full});
    choose.in[2] = {none_, Form::scalar};
    out_.emit(choose);
    const BufferId place = count_[turn], known = word_[turn];
    const LaneOperand place_words{place, Form::full};
    out_.emit(Fold{Folding::min, third_[turn], place, n, taps});
    out_.emit(lane(FRL_OP_less, known, 1, n, place_words, {none_, Form::scalar}));
    Lane found = lane(FRL_OP_select, place, 1, n, {known, Form::full}, place_words);
    found.in[2] = {lost_, Form::scalar};
    out_.emit(found);
    store(place, places_, begin, n);
  }

  Emitter& out_;
  const frl::Region& region_;
  bool is_max_;
  frl::Operand x_, y_, places_;
  Geometry geometry_;
  uint32_t id_ = 0;
  int64_t n_ = 0, most_ = 0;
  Pair values_, other_, third_, word_, count_;
  BufferId one_ = kNoBuffer, none_ = kNoBuffer, lost_ = kNoBuffer;
};

}  // namespace

void lower_pool(Emitter& out) { Pool(out).emit(); }

}  // namespace tpu_sim
