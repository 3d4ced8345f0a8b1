#include "core/pass/match.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace ferrule {

Pattern any(uint32_t slot) { return {.slot = slot}; }
Pattern lit(double number) { return {.what = Pattern::What::literal, .number = number}; }
Pattern number(uint32_t slot) {
  return {.what = Pattern::What::literal, .any_number = true, .slot = slot};
}
Pattern pat(OpId op, std::vector<Pattern> operands) {
  return {.what = Pattern::What::op, .op = op, .operands = std::move(operands)};
}
Pattern activation(uint32_t slot, Pattern operand) {
  return {.what = Pattern::What::activation, .slot = slot, .operands = {std::move(operand)}};
}

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

bool is_activation(const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && row->form == Form::pointwise && row->max_operands == 1 &&
         node.op != FRL_OP_identity && node.attributes == Attributes(node.op);
}

class Matcher {
 public:
  Matcher(Graph& graph, const std::vector<uint32_t>& uses, Match* out)
      : graph_(graph), uses_(uses), out_(out) {}

  bool node(NodeId id, const Pattern& pattern) {
    const Node& node = graph_.node(id);
    if (pattern.what == Pattern::What::activation) {
      if (!is_activation(node)) return false;
      keep(out_->ops, pattern.slot, node.op);
    } else if (node.op != pattern.op) {
      return false;
    }
    // Fewer pattern operands than the node has: the rest is the guard's business.
    if (node.operands.size() < pattern.operands.size()) return false;
    out_->nodes.push_back(id);
    const Match before = *out_;
    if (operands(node, pattern, false)) return true;
    if (!commutative(node.op)) return false;
    restore(before);
    return operands(node, pattern, true);
  }

 private:
  bool operands(const Node& node, const Pattern& pattern, bool swapped) {
    for (size_t i = 0; i < pattern.operands.size(); ++i)
      if (!operand(node, node.operands[swapped ? 1 - i : i], pattern.operands[i])) return false;
    return true;
  }

  bool operand(const Node& user, ValueId id, const Pattern& pattern) {
    if (id == kNoValue) return false;
    id = graph_.resolve(id);
    if (pattern.what == Pattern::What::any) {
      keep(out_->values, pattern.slot, id);
      return true;
    }
    if (pattern.what == Pattern::What::literal) {
      const Tensor* literal = graph_.literal(id);
      double value = 0;
      if (!literal || !is_splat(*literal, &value) ||
          !(pattern.any_number || same_number(value, pattern.number)))
        return false;
      if (pattern.any_number) keep(out_->values, pattern.slot, id);
      return true;
    }
    const Value& value = graph_.value(id);
    if (value.maker == kNoNode || value.result != 0 || uses_[index(id)] != 1) return false;
    return graph_.node(value.maker).device == user.device && node(value.maker, pattern);
  }

  template <class T>
  static void keep(std::vector<T>& slots, uint32_t slot, T value) {
    if (slots.size() <= slot) slots.resize(slot + 1);
    slots[slot] = value;
  }
  void restore(const Match& before) {
    out_->values = before.values, out_->ops = before.ops, out_->nodes = before.nodes;
  }

  Graph& graph_;
  const std::vector<uint32_t>& uses_;
  Match* out_;
};

std::vector<SourceId> merged_sources(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<SourceId> out;
  for (NodeId id : nodes)
    out.insert(out.end(), graph.node(id).sources.begin(), graph.node(id).sources.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

bool match(Graph& graph, const std::vector<uint32_t>& uses, NodeId root, const Pattern& pattern,
           Match* out) {
  out->root = root;
  return Matcher(graph, uses, out).node(root, pattern);
}

Result<bool> fuse_rows(Graph& graph, PassContext& context, const char* pass,
                       std::span<const FusionRow> rows) {
  const std::vector<uint32_t> uses = graph.count_uses();
  const size_t n_nodes = graph.n_nodes();
  std::vector<bool> swallowed(n_nodes);
  bool changed = false;
  const auto reject = [&](size_t node, std::string reason) {
    context.report.candidates.push_back(
        {pass, "", graph.source_text(graph.node(NodeId(node))), false, std::move(reason)});
  };
  for (size_t i = n_nodes; i-- > 0;) {
    if (swallowed[i] || graph.node(NodeId(i)).device != context.number) continue;
    for (const FusionRow& row : rows) {
      Match found{graph};
      if (!match(graph, uses, NodeId(i), row.pattern, &found)) continue;
      if (std::any_of(found.nodes.begin(), found.nodes.end(),
                      [&](NodeId id) { return swallowed[index(id)]; }))
        continue;
      if (std::string reason = row.guard ? row.guard(found) : ""; !reason.empty()) {
        reject(i, std::move(reason));
        continue;
      }
      graph.set_sources(merged_sources(graph, found.nodes));
      graph.set_device(context.number);
      auto region = row.emit(found);
      if (!region.ok()) {
        reject(i, region.status().message());
        continue;
      }
      const ValueId old = graph.node(NodeId(i)).results[0], by = graph.node(*region).results[0];
      if (graph.type(old) != graph.type(by)) {
        reject(i, cat("result: want ", to_string(graph.type(old)), ", got ",
                      to_string(graph.type(by))));
        continue;
      }
      if (!admit(graph, context, pass, *region, found.nodes)) continue;
      graph.replace(old, by);
      for (NodeId id : found.nodes) swallowed[index(id)] = true;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace ferrule
