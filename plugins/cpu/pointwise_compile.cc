#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "plugins/cpu/pointwise.h"

namespace cpu {

Work work_of(uint32_t type) {
  switch (type) {
    case FRL_F64:
      return kWorkF64;
    case FRL_F32:
    case FRL_F16:
    case FRL_BF16:
      return kWorkF32;
    case FRL_BOOL:
      return kWorkBool;
    default:
      if (type >= FRL_I8 && type <= FRL_U64) return static_cast<Work>(kWorkI8 + (type - FRL_I8));
      throw frl::Failure(FRL_NO_TYPE, "pointwise: want a number or bool");
  }
}
int64_t work_bytes(Work work) {
  constexpr int64_t kBytes[kNWork] = {8, 4, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return kBytes[work];
}

namespace {

// What an element of a tile costs, roughly, in ns: for deciding how many workers to wake.
double step_ns(uint32_t op) {
  switch (op) {
    case FRL_OP_tan:
    case FRL_OP_asin:
    case FRL_OP_acos:
    case FRL_OP_atan:
    case FRL_OP_sinh:
    case FRL_OP_cosh:
    case FRL_OP_asinh:
    case FRL_OP_acosh:
    case FRL_OP_atanh:
    case FRL_OP_fmod:
    case FRL_OP_mod:
      return 15;
    case FRL_OP_pow:
      return 2;
    default:
      return op >= FRL_OP_sqrt && op <= FRL_OP_gelu_tanh && op != FRL_OP_relu ? 0.7 : 0.1;
  }
}
// Results of these need no rounding to 16 bits: they are one of the operands.
bool is_exact_in_16_bits(uint32_t op) {
  constexpr uint32_t kOps[] = {FRL_OP_identity, FRL_OP_neg,    FRL_OP_abs,
                               FRL_OP_sign,     FRL_OP_floor,  FRL_OP_ceil,
                               FRL_OP_round,    FRL_OP_relu,   FRL_OP_max,
                               FRL_OP_min,      FRL_OP_select, FRL_OP_thresholded_relu};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

class Compiler {
 public:
  Compiler(const Context& context, const frl::Region& region)
      : isa_(*context.isa), region_(region), shape_(region.output(0)) {}

  TileProgram compile() {
    collect_leaves();
    merge_axes();
    for (const Pending& leaf : pending_) add_leaf(leaf);
    const frl::Body body = region_.body(0);
    for (uint32_t i = 0; i < body.n_nodes; ++i) add_node(region_.node(body.first_node + i));
    add_outputs();
    assign_buffers(out_, std::move(needs_buffer_));
    choose_tile();
    return std::move(out_);
  }

 private:
  struct Pending {
    frl::Operand operand;
    frl::Extents strides;  // over the result's axes
  };

  // ---- leaves ----
  void collect_leaves() {
    for (size_t i = 0; i < region_.n_inputs(); ++i) collect(region_.operand_of(region_.input(i)));
    const frl::Body body = region_.body(0);
    for (uint32_t i = 0; i < body.n_nodes; ++i)
      for (uint32_t id : region_.node(body.first_node + i).operands)
        if (region_.value(id).is_literal()) collect(region_.operand_of(region_.value(id)));
    for (uint32_t id : body.outputs)
      if (region_.value(id).is_literal()) collect(region_.operand_of(region_.value(id)));
  }
  void collect(const frl::Operand& operand) {
    const frl::Value& v = operand.value;
    for (const Pending& p : pending_)
      if (p.operand.value.id == v.id) return;
    Pending p{operand, {}};
    const frl::Extents strides = operand.argument < 0 ? dense_strides(v) : v.strides;
    for (uint32_t d = 0; d < v.rank; ++d)
      p.strides[shape_.rank - v.rank + d] = v.extents[d] == 1 ? 0 : strides[d];
    pending_.push_back(p);
  }
  // Neighbouring axes that every leaf walks as one become one.
  void merge_axes() {
    for (uint32_t d = 0; d < shape_.rank; ++d) {
      const int64_t extent = shape_.extents[d];
      if (extent == 1) continue;
      bool joins = !out_.axes.empty();
      for (const Pending& p : pending_)
        joins &= joins && p.strides[last_axis_] == p.strides[d] * extent;
      if (!joins) out_.axes.push_back(1), inner_of_.push_back(d);
      out_.axes.back() *= extent, inner_of_.back() = d;
      last_axis_ = d;
    }
    if (out_.axes.empty()) out_.axes.push_back(1), inner_of_.push_back(0);
  }
  void add_leaf(const Pending& p) {
    const frl::Value& v = p.operand.value;
    Leaf leaf{Place(p.operand), Leaf::gathered, new_slot(v.id), v.type, nullptr, {}};
    if (v.type == FRL_F16) leaf.convert = isa_.load_f16;
    if (v.type == FRL_BF16) leaf.convert = isa_.load_bf16;
    bool splat = true, dense = true;
    int64_t want = 1;
    for (size_t k = out_.axes.size(); k-- > 0; want *= out_.axes[k]) {
      leaf.strides[k] = shape_.rank ? p.strides[inner_of_[k]] : 0;
      splat &= leaf.strides[k] == 0;
      dense &= leaf.strides[k] == want || out_.axes[k] == 1;
    }
    const size_t last = out_.axes.size() - 1;
    const bool runs = leaf.strides[last] == 1 && out_.axes[last] >= kLongRow && !leaf.convert;
    leaf.form = splat ? Leaf::splat : dense ? Leaf::direct : runs ? Leaf::by_rows : Leaf::gathered;
    if (leaf.form == Leaf::direct && !leaf.convert)
      aliasable_.push_back(leaf.slot);
    else if (leaf.form != Leaf::by_rows)
      needs_buffer_.push_back(leaf.slot);
    out_.leaves.push_back(std::move(leaf));
  }

  // ---- steps ----
  uint32_t new_slot(uint32_t value) {
    if (value != FRL_NO_VALUE) slot_of_[value] = out_.n_slots;
    return out_.n_slots++;
  }
  uint32_t slot_of(uint32_t value) const {
    const auto found = slot_of_.find(value);
    if (found == slot_of_.end())
      throw frl::Failure(FRL_NO_BODY, "pointwise: operand before its maker");
    return found->second;
  }
  void add_step(uint32_t op, TileFn fn, uint32_t dst, uint32_t a, uint32_t b, uint32_t c,
                double p0 = 0, double p1 = 0) {
    if (!fn)
      throw frl::Failure(FRL_NO_TYPE,
                         std::string("pointwise: no ") + frl::op_name(op) + " of this type");
    out_.steps.push_back({fn, dst, a, b, c, {p0, p1}});
    ns_ += step_ns(op);
  }
  void add_round(uint32_t type, uint32_t slot) {
    add_step(FRL_OP_identity, type == FRL_F16 ? isa_.round_f16 : isa_.round_bf16, slot, slot, slot,
             slot);
  }
  void add_node(const frl::Node& node) {
    const frl::Value result = region_.value(node.results[0]);
    const uint32_t a = slot_of(node.operands[0]);
    const uint32_t b = node.operands.size() > 1 ? slot_of(node.operands[1]) : a;
    const uint32_t c = node.operands.size() > 2 ? slot_of(node.operands[2]) : a;
    const frl::Value first = region_.value(node.operands[0]);
    const uint32_t dst = new_slot(result.id);
    needs_buffer_.push_back(dst);
    if (node.op == FRL_OP_cast) return add_cast(first.type, result.type, dst, a);
    if (node.op == FRL_OP_select) {
      add_step(node.op, isa_.select(work_of(result.type)), dst, a, b, c);
    } else if (node.operands.size() == 1) {
      add_step(node.op, isa_.unary(node.op, work_of(first.type)), dst, a, a, a,
               node.attributes.f(0), node.attributes.f(1));
    } else if (node.op == FRL_OP_pow && is_two(region_.value(node.operands[1]))) {
      add_step(FRL_OP_mul, isa_.binary(FRL_OP_mul, work_of(first.type)), dst, a, a, a);
    } else {
      add_step(node.op, isa_.binary(node.op, work_of(first.type)), dst, a, b, a);
    }
    if (is_16_bit_float(result.type) && !is_exact_in_16_bits(node.op)) add_round(result.type, dst);
  }
  // A literal 2 everywhere: squares are the powers that models have.
  static bool is_two(const frl::Value& v) {
    if (!v.is_literal() || v.literal.size() != static_cast<size_t>(frl::element_bytes(v.type)))
      return false;
    return with_type(v.type, [&]<class T>(T x) {
      std::memcpy(&x, v.literal.data(), sizeof x);
      return load(x) == 2;
    });
  }
  // To 16-bit floats through f64 and f32-to-odd where f32 does not hold the operand.
  void add_cast(uint32_t from, uint32_t to, uint32_t dst, uint32_t a) {
    const bool wide =
        from == FRL_F64 || (from >= FRL_I8 && from <= FRL_U64 && frl::element_bytes(from) >= 4);
    if (!is_16_bit_float(to) || !wide) {
      add_step(FRL_OP_cast, isa_.cast(work_of(from), work_of(to)), dst, a, a, a);
      if (is_16_bit_float(to) && from != to) add_round(to, dst);
      return;
    }
    uint32_t source = a;
    if (from != FRL_F64) {
      source = new_slot(FRL_NO_VALUE);
      needs_buffer_.push_back(source);
      wide_ = true;
      add_step(FRL_OP_cast, isa_.cast(work_of(from), kWorkF64), source, a, a, a);
    }
    add_step(FRL_OP_cast, isa_.narrow_odd, dst, source, source, source);
    add_round(to, dst);
  }

  // ---- outputs ----
  void add_outputs() {
    // A step may write to an output's memory itself if no later one reads an input there, since the
    // output may lie on that input.
    size_t last_read = 0;
    for (size_t i = 0; i < out_.steps.size(); ++i)
      for (uint32_t slot : {out_.steps[i].a, out_.steps[i].b, out_.steps[i].c})
        if (std::ranges::find(aliasable_, slot) != aliasable_.end()) last_read = i;
    std::vector<uint32_t> taken;
    for (size_t k = 0; k < region_.n_outputs(); ++k) {
      const frl::Value v = region_.output(k);
      TileOutput out{region_.output_argument(k), slot_of(v.id), frl::element_bytes(v.type),
                     nullptr};
      const size_t first_write = first_write_of(out_, out.slot);
      if (v.type == FRL_F16)
        out.convert = isa_.store_f16;
      else if (v.type == FRL_BF16)
        out.convert = isa_.store_bf16;
      else if (first_write < last_read || first_write == out_.steps.size() ||
               std::ranges::find(taken, out.slot) != taken.end())
        out.convert = isa_.unary(FRL_OP_identity, work_of(v.type));
      if (!out.convert) taken.push_back(out.slot), std::erase(needs_buffer_, out.slot);
      out_.outputs.push_back(out);
    }
  }

  void choose_tile() {
    int64_t width = wide_ ? 8 : 1;
    for (uint32_t id = 0; id < region_.n_values(); ++id)
      width = std::max(width, work_bytes(work_of(region_.value(id).type)));
    constexpr int64_t kCacheBytes = 24 * 1024;
    const int64_t fits = kCacheBytes / (width * std::max<int64_t>(out_.n_buffers + 1, 1));
    out_.tile = std::clamp<int64_t>(fits / 64 * 64, 64, 2048);
    int64_t n = 1;
    for (int64_t extent : out_.axes) n *= extent;
    out_.rows = 1, out_.row = n;
    // Rows long enough for tiles of their own keep gathered operands in whole runs.
    const bool has_gaps =
        std::ranges::any_of(out_.leaves, [](const Leaf& l) { return l.form >= Leaf::by_rows; });
    if (has_gaps && out_.axes.back() >= kLongRow) {
      out_.row = out_.axes.back(), out_.rows = n / out_.row;
      const int64_t parts = (out_.row + out_.tile - 1) / out_.tile;
      out_.tile = ((out_.row + parts - 1) / parts + 15) / 16 * 16;
    }
    out_.buffer_bytes = (out_.tile * width + 63) / 64 * 64;
    out_.tile_ns = static_cast<double>(std::min(out_.tile, out_.row)) *
                   (ns_ + 0.1 * static_cast<double>(out_.leaves.size() + out_.outputs.size()));
    if (out_.n_slots > 1024 || (out_.n_buffers + 1) * out_.buffer_bytes > 256 * 1024)
      throw frl::Failure(FRL_NO_ROOM, "pointwise: want fewer values alive at once");
  }

  const Isa& isa_;
  const frl::Region& region_;
  frl::Value shape_;
  TileProgram out_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> inner_of_;  // a merged axis' innermost axis
  uint32_t last_axis_ = 0;
  std::map<uint32_t, uint32_t> slot_of_;
  std::vector<uint32_t> aliasable_, needs_buffer_;
  bool wide_ = false;
  double ns_ = 0;
};

}  // namespace

TileProgram compile_tiles(const Context& context, const frl::Region& region) {
  return Compiler(context, region).compile();
}

}  // namespace cpu
