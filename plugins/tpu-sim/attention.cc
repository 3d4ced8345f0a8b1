// Attention: keys and values of one head stay in VMEM, queries pass by in blocks.
#include <algorithm>
#include <cmath>

#include "plugins/tpu-sim/product.h"
#include "plugins/tpu-sim/rows.h"

namespace tpu_sim {
namespace {

enum MaskKind : int64_t { kNone, kCausal, kAdditive, kBoolean };

// One operand as [batch, rows, columns].
struct Head {
  Window window;
  frl::Extents batch{};
};

class Attention {
 public:
  explicit Attention(Emitter& out) : out_(out), region_(out.region()) {
    const frl::Value q = region_.operand(0).value, k = region_.operand(1).value,
                     y = region_.result(0).value;
    rank_ = y.rank;
    s_ = q.extent(-2), t_ = k.extent(-2), d_ = q.extent(-1), e_ = y.extent(-1);
    for (uint32_t a = 0; a + 2 < rank_; ++a) heads_ *= y.extents[a];
    extents_ = y.extents;
    kind_ = region_.attribute_i(FRL_AT_attention_mask);
    window_ = region_.attribute_i(FRL_AT_attention_window);
    cap_ = static_cast<float>(region_.attribute_f(FRL_AT_attention_soft_cap));
    const double given = region_.attribute_f(FRL_AT_attention_scale);
    scale_ = static_cast<float>(given != 0 ? given : 1 / std::sqrt(double(d_)));
    q_ = head_of(region_.operand(0)), k_ = head_of(region_.operand(1));
    v_ = head_of(region_.operand(2)), y_ = head_of(region_.result(0));
    if (kind_ >= kAdditive) mask_ = head_of(region_.operand(3));
  }

  void emit() {
    if (region_.result(0).value.n_elements() == 0) return;
    if (cap_ != 0) cap_word_ = out_.scalar(cap_);
    scale_word_ = out_.scalar(scale_), lost_ = out_.scalar(-INFINITY);
    allocate();
    int64_t turn = 0;
    for (int64_t head = 0; head < heads_; ++head) {
      const BufferId keys = keys_[head], values = values_[head];
      fetch(k_, keys, head, 0, t_, d_);
      fetch(v_, values, head, 0, t_, e_);
      for (int64_t i = 0; i < s_; i += rows_) emit_block(head, i, turn++, keys, values);
    }
  }

 private:
  Head head_of(const frl::Operand& o) {
    Window w = out_.window_of(o);
    const frl::Extents over = strides_over(o.value, w.strides, rank_);
    Head h{w, over};
    h.batch[rank_ - 2] = h.batch[rank_ - 1] = 0;
    h.window.rank = 2, h.window.strides = {over[rank_ - 2], over[rank_ - 1]};
    return h;
  }

  // All of keys and values and as many queries as fit beside them.
  void allocate() {
    keys_ = out_.pair(t_ * d_), values_ = out_.pair(t_ * e_);
    const bool masks = kind_ >= kAdditive;
    const int64_t each = 2 * (d_ + t_ * (masks ? 2 : 1) + e_ + 1), spare = 10 * kBufferWords;
    const int64_t fits = (out_.free_words() - spare) / each;
    if (fits < 1)
      throw frl::Failure(FRL_NO_ROOM,
                         "attention: want keys and values of one head within VMEM, got " +
                             std::to_string(t_) + " keys");
    rows_ = std::min<int64_t>({fits, s_, 512});
    queries_ = out_.pair(rows_ * d_), scores_ = out_.pair(rows_ * t_);
    mixed_ = out_.pair(rows_ * e_), word_ = out_.pair(rows_);
    if (masks) mask_block_ = out_.pair(rows_ * t_);
  }

  int64_t offset(const Head& h, int64_t head) const {
    int64_t at = 0;
    for (uint32_t a = rank_ - 2; a-- > 0; head /= extents_[a])
      at += head % extents_[a] * h.batch[a];
    return at;
  }
  WindowId window_of(const Head& h, int64_t rows, int64_t columns) {
    Window w = h.window;
    w.extents = {rows, columns};
    return out_.window(w);
  }
  int64_t base_of(const Head& h, int64_t head, int64_t row) const {
    return offset(h, head) + row * h.window.strides[0];
  }
  void fetch(const Head& h, BufferId to, int64_t head, int64_t row, int64_t rows, int64_t columns) {
    out_.emit(Load{to, window_of(h, rows, columns), base_of(h, head, row), 0, rows * columns});
  }

  void emit_block(int64_t head, int64_t i, int64_t turn, BufferId keys, BufferId values) {
    const int64_t n = std::min(rows_, s_ - i);
    const BufferId q = queries_[turn], scores = scores_[turn], mixed = mixed_[turn];
    fetch(q_, q, head, i, n, d_);
    product(q, keys, scores, {n, t_, d_, passes_of(region_, region_.operand(0).value.type), true});
    const LaneOperand all{scores, Form::full};
    out_.emit(lane(FRL_OP_mul, scores, n, t_, all, {scale_word_, Form::scalar}));
    if (cap_ != 0) {
      const LaneOperand cap{cap_word_, Form::scalar};
      out_.emit(lane(FRL_OP_div, scores, n, t_, all, cap));
      out_.emit(lane(FRL_OP_tanh, scores, n, t_, all));
      out_.emit(lane(FRL_OP_mul, scores, n, t_, all, cap));
    }
    emit_mask(head, i, n, turn);
    if (t_ > 0) emit_softmax(out_, {scores, word_[turn], n, t_}, false, kNoBuffer);
    // Weights are f32, whatever the operands are.
    product(scores, values, mixed, {n, e_, t_, passes_of(region_, FRL_F32), false});
    out_.emit(Store{mixed, window_of(y_, n, e_), base_of(y_, head, i), 0, n * e_});
  }

  struct Size {
    int64_t m, n, k;
    int passes;
    bool transposed;
  };
  void product(BufferId a, BufferId b, BufferId acc, const Size& size) {
    if (size.k == 0) return out_.emit(Fill{acc, size.m * size.n, 0});
    out_.emit(Multiply{a, b, acc, size.m, size.n, size.k, size.passes, false, size.transposed});
  }

  void emit_mask(int64_t head, int64_t i, int64_t n, int64_t turn) {
    const BufferId scores = scores_[turn];
    if (kind_ == kCausal || window_ > 0)
      out_.emit(Hide{scores, n, t_, i + t_ - s_, kind_ == kCausal, window_});
    if (kind_ < kAdditive) return;
    const BufferId mask = mask_block_[turn];
    fetch(mask_, mask, head, i, n, t_);
    const LaneOperand all{scores, Form::full}, masks{mask, Form::full};
    if (kind_ == kAdditive) return out_.emit(lane(FRL_OP_add, scores, n, t_, all, masks));
    Lane choose = lane(FRL_OP_select, scores, n, t_, masks, all);
    choose.in[2] = {lost_, Form::scalar};
    out_.emit(choose);
  }

  Emitter& out_;
  const frl::Region& region_;
  uint32_t rank_ = 0;
  frl::Extents extents_{};
  int64_t heads_ = 1, s_ = 0, t_ = 0, d_ = 0, e_ = 0, kind_ = 0, window_ = 0, rows_ = 0;
  float scale_ = 1, cap_ = 0;
  Head q_, k_, v_, y_, mask_;
  Pair keys_, values_, queries_, scores_, mixed_, word_, mask_block_;
  BufferId scale_word_ = kNoBuffer, lost_ = kNoBuffer, cap_word_ = kNoBuffer;
};

}  // namespace

void lower_attention(Emitter& out) { Attention(out).emit(); }

}  // namespace tpu_sim
