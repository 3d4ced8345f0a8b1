#include "core/pass/match.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"

namespace ferrule {

Pattern any(uint32_t slot) { return {.slot = slot}; }
Pattern lit(double number) { return {.what = Pattern::What::literal, .number = number}; }
Pattern about(double number) {
  return {.what = Pattern::What::literal, .number = number, .rounded = true};
}
Pattern number(uint32_t slot) {
  return {.what = Pattern::What::literal, .any_number = true, .slot = slot};
}
Pattern pat(OpId op, std::vector<Pattern> operands) {
  return {.what = Pattern::What::op, .op = op, .operands = std::move(operands)};
}
Pattern activation(uint32_t slot, Pattern operand) {
  return {.what = Pattern::What::activation, .slot = slot, .operands = {std::move(operand)}};
}
Pattern as(uint32_t slot, Pattern pattern) { return pattern.named = 1 + slot, pattern; }
Pattern tee(uint32_t slot, Pattern pattern) { return pattern.tee = true, as(slot, pattern); }
Pattern one_of(std::vector<Pattern> patterns) {
  return {.what = Pattern::What::one_of, .operands = std::move(patterns)};
}
Pattern maybe(OpId op, Pattern pattern) { return one_of({pat(op, {pattern}), pattern}); }

namespace {

bool commutative(OpId op) {
  switch (op) {
    case FRL_OP_add:
    case FRL_OP_mul:
    case FRL_OP_max:
    case FRL_OP_min:
      return true;
    default:
      return false;
  }
}

bool is_splat(const Tensor& tensor, double* value) {
  if (tensor.n_elements() == 0) return false;
  const int64_t size = size_bytes(tensor.element());
  for (int64_t i = 1; i < tensor.n_elements(); ++i)
    if (std::memcmp(tensor.bytes().data(), tensor.bytes().data() + i * size, size_t(size)) != 0)
      return false;
  *value = tensor.at_f64(0);
  return true;
}

// 0 and -0 are two numbers: x + -0 is x, x + 0 is not.
bool same_number(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

// Within one rounding of the type, or within seven digits, as authors write constants.
bool near_number(double a, double b, Type type) {
  const double step = type == Type::f64    ? 1e-12
                      : type == Type::f16  ? 0x1p-10
                      : type == Type::bf16 ? 0x1p-7
                                           : 1e-6;
  return std::abs(a - b) <= step * std::abs(b);
}

bool is_activation(const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && row->form == Form::pointwise && row->max_operands == 1 &&
         node.op != FRL_OP_identity && node.attributes == Attributes(node.op);
}

// What is still to be matched: a list on the stack, so that a way that fails leaves nothing behind.
struct Goal {
  const Pattern* pattern;
  ValueId value;
  NodeId user;
  const Goal* next;
};

class Matcher {
 public:
  Matcher(Graph& graph, const std::vector<uint32_t>* uses, Match* out)
      : graph_(graph), uses_(uses), out_(out) {}

  bool root(NodeId id, const Pattern& pattern) {
    if (pattern.what != Pattern::What::one_of) return node(id, pattern, nullptr);
    return std::any_of(pattern.operands.begin(), pattern.operands.end(),
                       [&](const Pattern& each) { return root(id, each); });
  }

 private:
  bool solve(const Goal* goal) {
    if (!goal) return nothing_leaks();
    const Pattern& pattern = *goal->pattern;
    if (goal->value == kNoValue) return false;
    const ValueId id = graph_.resolve(goal->value);
    switch (pattern.what) {
      case Pattern::What::any:
        return kept(pattern.slot, id, goal->next);
      case Pattern::What::literal:
        if (!fits_literal(id, pattern)) return false;
        return pattern.any_number ? kept(pattern.slot, id, goal->next) : solve(goal->next);
      case Pattern::What::one_of:
        for (const Pattern& each : pattern.operands) {
          const Goal inner{&each, id, goal->user, goal->next};
          if (solve(&inner)) return true;
        }
        return false;
      default:
        return made(id, pattern, *goal);
    }
  }

  // The value as the result of a node that the region swallows.
  bool made(ValueId id, const Pattern& pattern, const Goal& goal) {
    const Value& value = graph_.value(id);
    if (value.maker == kNoNode || value.result != 0) return false;
    return graph_.node(value.maker).device == graph_.node(goal.user).device &&
           node(value.maker, pattern, goal.next);
  }

  bool node(NodeId id, const Pattern& pattern, const Goal* next) {
    const Node& node = graph_.node(id);
    const bool is_act = pattern.what == Pattern::What::activation;
    if (is_act ? !is_activation(node) : node.op != pattern.op) return false;
    // Fewer pattern operands than the node has: the rest is the guard's business.
    const size_t n = pattern.operands.size();
    if (node.operands.size() < n || is_matched(id)) return false;
    if (is_act) {
      if (out_->ops.size() <= pattern.slot) out_->ops.resize(pattern.slot + 1);
      out_->ops[pattern.slot] = node.op;
    }
    out_->nodes.push_back(id);
    for (int swapped = 0; swapped < (commutative(node.op) && n == 2 ? 2 : 1); ++swapped)
      if (operands(id, pattern, 0, swapped, next)) return true;
    out_->nodes.pop_back();
    return false;
  }

  // The node's operands from the i-th on become goals, the first one foremost.
  bool operands(NodeId id, const Pattern& pattern, size_t i, bool swapped, const Goal* next) {
    std::array<Goal, kMostOperands> goals;
    const size_t n = pattern.operands.size();
    const Node& node = graph_.node(id);
    for (i = n; i-- > 0; next = &goals[i])
      goals[i] = {&pattern.operands[i], node.operands[swapped ? 1 - i : i], id, next};
    if (pattern.named == 0) return solve(next);
    return kept(pattern.named - 1, node.results[0], next, pattern.tee);
  }

  // Goes on with the slot bound; a bound slot wants its value again.
  bool kept(uint32_t slot, ValueId id, const Goal* next, bool is_tee = false) {
    std::vector<ValueId>& slots = out_->values;
    if (slots.size() <= slot) slots.resize(slot + 1, kNoValue);
    if (slots[slot] != kNoValue) return slots[slot] == id && solve(next);
    slots[slot] = id;
    if (is_tee) out_->tees.push_back(id);
    if (solve(next)) return true;
    out_->values[slot] = kNoValue;
    if (is_tee) out_->tees.pop_back();
    return false;
  }

  bool fits_literal(ValueId id, const Pattern& pattern) const {
    const Tensor* literal = graph_.literal(id);
    double value = 0;
    if (!literal || !is_splat(*literal, &value)) return false;
    if (pattern.rounded) return near_number(value, pattern.number, literal->element());
    return pattern.any_number || same_number(value, pattern.number);
  }

  bool is_matched(NodeId id) const {
    return std::find(out_->nodes.begin(), out_->nodes.end(), id) != out_->nodes.end();
  }

  // Results of all nodes but the root are used by nodes of the match alone, or are tees.
  bool nothing_leaks() const {
    for (size_t i = 1; uses_ && i < out_->nodes.size(); ++i) {
      const Node& node = graph_.node(out_->nodes[i]);
      for (size_t r = 0; r < node.results.size(); ++r) {
        const ValueId result = node.results[r];
        if (std::find(out_->tees.begin(), out_->tees.end(), result) != out_->tees.end()) continue;
        if ((*uses_)[index(result)] == uses_inside(result)) continue;
        out_->leak = cat(graph_.source_text(node), ": its result is used elsewhere too");
        return false;
      }
    }
    return true;
  }
  uint32_t uses_inside(ValueId id) const {
    uint32_t n = 0;
    for (NodeId node : out_->nodes)
      for (ValueId operand : graph_.node(node).operands)
        n += operand != kNoValue && graph_.resolve(operand) == id;
    return n;
  }

  static constexpr size_t kMostOperands = 4;

  Graph& graph_;
  const std::vector<uint32_t>* uses_;
  Match* out_;
};

}  // namespace

bool Match::is_about(size_t slot, double wanted) const {
  return near_number(number(slot), wanted, graph.type(values[slot]).type);
}

bool Match::is_splat_of(size_t slot, double wanted) const {
  const Value& value = graph.value(values[slot]);
  double found = 0;
  if (!graph.known(values[slot]) || !is_splat(value.known, &found) || found != wanted) return false;
  if (read_parameters && value.role == Role::parameter) read_parameters->insert(value.name);
  return true;
}

bool match(Graph& graph, const std::vector<uint32_t>* uses, NodeId root, const Pattern& pattern,
           Match* out) {
  out->root = root;
  return Matcher(graph, uses, out).root(root, pattern);
}

}  // namespace ferrule
