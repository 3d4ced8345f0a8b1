#include "plugins/cpu/parts.h"

#include <algorithm>

#include "plugins/cpu/element.h"

namespace cpu {

// Reads nodes in a row; each step gives the node's result, or none when the row is another one.
class PartFinder::Reader {
 public:
  Reader(const PartFinder& in, uint32_t first) : in_(&in), first_(first), next_(first) {}

  uint32_t n_nodes() const { return next_ - first_; }
  uint32_t last() const { return last_; }
  bool failed() const { return failed_; }

  // The next node if it is this op of these operands (NO_VALUE: any, kept in `other`), in either
  // order where it is commutative.
  bool take(uint32_t op, uint32_t a, uint32_t b = FRL_NO_VALUE, uint32_t* other = nullptr) {
    if (failed_ || next_ >= in_->body_.n_nodes) return fail();
    const frl::Node node = in_->region_.node(in_->body_.first_node + next_);
    if (node.op != op) return fail();
    const bool swaps = op == FRL_OP_add || op == FRL_OP_mul;
    for (int side = 0; side < (swaps && node.operands.size() == 2 ? 2 : 1); ++side) {
      const uint32_t x = node.operands[static_cast<size_t>(side)];
      const uint32_t y =
          node.operands.size() > 1 ? node.operands[static_cast<size_t>(1 - side)] : FRL_NO_VALUE;
      if (x != a || (b != FRL_NO_VALUE && y != b)) continue;
      if (other) *other = y;
      inner_.push_back(last_ = node.results[0]);
      ++next_;
      return true;
    }
    return fail();
  }
  // A step that may be missing: nothing changes if it is.
  bool maybe(uint32_t op, uint32_t a, uint32_t* other) {
    const Reader before = *this;
    if (take(op, a, FRL_NO_VALUE, other)) return true;
    *this = before;
    return false;
  }
  frl::Node node(uint32_t back = 1) const {
    return in_->region_.node(in_->body_.first_node + next_ - back);
  }
  void skip_back() { --next_, inner_.pop_back(), last_ = inner_.empty() ? last_ : inner_.back(); }

  // Whether every value but the last is used within the run alone.
  bool is_closed() const {
    for (size_t i = 0; i + 1 < inner_.size(); ++i)
      for (uint32_t use : in_->uses_[inner_[i]])
        if (use >= next_) return false;
    return true;
  }
  std::optional<double> number(uint32_t id) const {
    if (id == FRL_NO_VALUE) return {};
    const frl::Value v = in_->region_.value(id);
    if (v.literal.empty() || v.n_elements() != 1) return {};
    if (v.type == FRL_F32) {
      float f;
      std::memcpy(&f, v.literal.data(), sizeof f);
      return double(f);
    }
    if (v.type != FRL_F64) return {};
    double d;
    std::memcpy(&d, v.literal.data(), sizeof d);
    return d;
  }

  frl::PartRequest request(uint32_t kind, std::vector<uint32_t> inputs,
                           std::vector<frl_attribute> attributes) const {
    frl::PartRequest out;
    out.kind = kind, out.first_node = in_->body_.first_node + first_, out.n_nodes = n_nodes();
    out.inputs = std::move(inputs), out.outputs = {last_}, out.attributes = std::move(attributes);
    return out;
  }

 private:
  bool fail() { return failed_ = true, false; }

  const PartFinder* in_;
  uint32_t first_, next_, last_ = FRL_NO_VALUE;
  bool failed_ = false;
  std::vector<uint32_t> inner_;
};

namespace {

frl_attribute integer(int64_t i) { return {i, 0, 0, 0}; }
frl_attribute real(double f) { return {0, f, 0, 0}; }

bool is_float(const frl::Value& v) { return v.type == FRL_F32 || v.type == FRL_F64; }

}  // namespace

// sum / n, centred, squared, summed, / n, + epsilon, root, quotient; then scale and shift.
std::optional<frl::PartRequest> PartFinder::norm(uint32_t first, bool centred) const {
  Reader r(*this, first);
  const frl::Node start = region_.node(body_.first_node + first);
  const uint32_t x = start.operands[0];
  if (!is_float(region_.value(x))) return {};
  uint32_t centre = x, n = 0, epsilon = 0;
  std::vector<int64_t> axes;
  if (centred) {
    if (!r.take(FRL_OP_reduce, x)) return {};
    axes = start.attributes.list(FRL_AT_reduce_axes);
    if (!r.take(FRL_OP_div, r.last(), FRL_NO_VALUE, &n) || !r.take(FRL_OP_sub, x, r.last()))
      return {};
    centre = r.last();
  }
  if (!r.take(FRL_OP_mul, centre, centre) || !r.take(FRL_OP_reduce, r.last())) return {};
  const frl::Node squares = r.node();
  if (!centred) axes = squares.attributes.list(FRL_AT_reduce_axes);
  if (!r.take(FRL_OP_div, r.last(), FRL_NO_VALUE, &n) ||
      !r.take(FRL_OP_add, r.last(), FRL_NO_VALUE, &epsilon) || !r.take(FRL_OP_sqrt, r.last()) ||
      !r.take(FRL_OP_div, centre, r.last()))
    return {};
  int64_t elements = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != int64_t(i) - int64_t(axes.size())) return {};
    elements *= region_.value(x).extent(axes[i]);
  }
  const auto add = [](const frl::Node& node) {
    return node.attributes.i(FRL_AT_reduce_by) == FRL_OP_add &&
           node.attributes.i(FRL_AT_reduce_keep) == 1;
  };
  if (!add(squares) || (centred && !add(start)) || axes.empty() ||
      squares.attributes.list(FRL_AT_reduce_axes) != axes || r.number(n) != double(elements) ||
      !r.number(epsilon))
    return {};
  // Scale and shift have exactly the normalised axes.
  const auto fits = [&](uint32_t id) {
    const frl::Value v = region_.value(id);
    if (v.rank != axes.size() || v.type != region_.value(x).type || r.number(id)) return false;
    for (uint32_t d = 0; d < v.rank; ++d)
      if (v.extents[d] != region_.value(x).extent(axes[d])) return false;
    return true;
  };
  std::vector<uint32_t> inputs = {x};
  for (const uint32_t op : {FRL_OP_mul, FRL_OP_add}) {
    uint32_t factor = 0;
    if (op == FRL_OP_add && !centred) break;
    if (!r.maybe(op, r.last(), &factor)) break;
    if (!fits(factor)) {
      r.skip_back();
      break;
    }
    inputs.push_back(factor);
  }
  if (!r.is_closed()) return {};
  return r.request(centred ? FRL_OP_layer_norm : FRL_OP_rms_norm, std::move(inputs),
                   {integer(int64_t(axes.size())), real(*r.number(epsilon))});
}

// k transposed, scores, scale, mask, softmax, values.
std::optional<frl::PartRequest> PartFinder::attention(uint32_t first) const {
  Reader r(*this, first);
  const frl::Node swap = region_.node(body_.first_node + first);
  const uint32_t k = swap.operands[0];
  uint32_t scale = 0, mask = FRL_NO_VALUE;
  if (!is_float(region_.value(k)) || !r.take(FRL_OP_transpose, k)) return {};
  const auto order = swap.attributes.list(FRL_AT_transpose_order);
  const auto rank = int64_t(order.size());
  for (int64_t axis = -rank; axis < 0; ++axis)
    if (order[size_t(axis + rank)] != (axis == -1 ? -2 : axis == -2 ? -1 : axis)) return {};
  if (first + 1 >= body_.n_nodes) return {};
  const uint32_t q = region_.node(body_.first_node + first + 1).operands[0];
  if (!r.take(FRL_OP_matmul, q, r.last()) || !r.take(FRL_OP_mul, r.last(), FRL_NO_VALUE, &scale) ||
      !r.number(scale))
    return {};
  int64_t kind = 0;
  if (r.maybe(FRL_OP_add, r.last(), &mask)) {
    // A mask that the body holds is the causal one of a block that says so.
    const bool block =
        region_.kind() == FRL_OP_attention_block || region_.kind() == FRL_OP_transformer_layer;
    const bool inside =
        std::find(body_.inputs.begin(), body_.inputs.end(), mask) == body_.inputs.end() &&
        uses_[mask].size() == 1 && region_.value(mask).rank == 2;
    const bool causal = block && region_.attribute_i(FRL_AT_attention_block_mask) == 1;
    if (causal != inside) return {};
    kind = causal ? 1 : 2;
    if (causal) mask = FRL_NO_VALUE;
  }
  if (!r.take(FRL_OP_softmax, r.last()) || r.node().attributes.i(FRL_AT_softmax_axis) != -1)
    return {};
  if (first + r.n_nodes() >= body_.n_nodes) return {};
  const frl::Node mixed = region_.node(body_.first_node + first + r.n_nodes());
  if (mixed.operands.size() != 2) return {};
  const uint32_t v = mixed.operands[1];
  if (!r.take(FRL_OP_matmul, r.last(), v) || !r.is_closed()) return {};
  std::vector<uint32_t> inputs = {q, k, v};
  if (mask != FRL_NO_VALUE) inputs.push_back(mask);
  return r.request(FRL_OP_attention, std::move(inputs),
                   {integer(kind), real(*r.number(scale)), integer(0), real(0)});
}

// A product, its bias, an activation.
std::optional<frl::PartRequest> PartFinder::product(uint32_t first) const {
  Reader r(*this, first);
  const frl::Node node = region_.node(body_.first_node + first);
  const uint32_t x = node.operands[0], w = node.operands[1];
  uint32_t bias = FRL_NO_VALUE;
  if (!is_float(region_.value(x)) || !r.take(FRL_OP_matmul, x, w) ||
      !r.maybe(FRL_OP_add, r.last(), &bias))
    return {};
  const frl::Value b = region_.value(bias);
  if (b.rank != 1 || b.extent(-1) != region_.value(r.last()).extent(-1) || r.number(bias))
    return {};
  int64_t activation = 0;
  if (first + 2 < body_.n_nodes) {
    const frl::Node next = region_.node(body_.first_node + first + 2);
    const frl::OpRow* row = frl::find_op(next.op);
    const bool plain = next.op == FRL_OP_relu || next.op == FRL_OP_gelu ||
                       next.op == FRL_OP_gelu_tanh || next.op == FRL_OP_silu ||
                       next.op == FRL_OP_tanh || next.op == FRL_OP_sigmoid;
    if (row && plain && uses_[r.last()].size() == 1 && r.maybe(next.op, r.last(), nullptr))
      activation = next.op;
  }
  if (!r.is_closed()) return {};
  return r.request(FRL_OP_matmul_bias_act, {x, w, bias}, {integer(activation)});
}

std::optional<frl::PartRequest> PartFinder::at(uint32_t first) const {
  switch (region_.node(body_.first_node + first).op) {
    case FRL_OP_reduce:
      return norm(first, true);
    case FRL_OP_mul:
      return norm(first, false);
    case FRL_OP_transpose:
      return attention(first);
    case FRL_OP_matmul:
      return product(first);
    default:
      return {};
  }
}

}  // namespace cpu
