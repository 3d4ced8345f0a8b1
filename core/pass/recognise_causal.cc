// Attention whose mask is a constant triangle is causal.
//
// The triangle may be boolean, 0 and -inf (or what absorbs scores as that does), or a selection
// between the two by a constant. Queries are aligned to the end of the keys. Where there are fewer
// keys than queries some rows see nothing, and what they give depends on the filling.
#include <cmath>
#include <map>
#include <tuple>

#include "core/pass/attention_parts.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kKeep = 0, kSeen = 1, kUnseen = 2;

// A mask that is known, `seen` and `unseen` what a boolean stands for.
struct KnownMask {
  ValueId source;
  const Tensor* elements = nullptr;
  Type type = Type::none;  // that it is added in
  double seen = 0, unseen = -INFINITY;
};

bool is_triangle(const KnownMask& mask, int64_t s, int64_t t) {
  const Shape& shape = mask.elements->shape();
  if (s > t || shape.rank() < 2 || shape.from_end(-1) != t || shape.from_end(-2) != s ||
      mask.elements->n_elements() != s * t)
    return false;
  const bool boolean = mask.elements->element() == Type::boolean;
  for (int64_t i = 0; i < s * t; ++i) {
    const double given = mask.elements->at_f64(i);
    const double added = boolean ? (given != 0 ? mask.seen : mask.unseen) : given;
    const bool visible = i % t <= i / t + t - s;
    if (visible ? added != 0 : !absorbs(added, mask.type)) return false;
  }
  return true;
}

KnownMask known_mask(Graph& graph, ValueId mask) {
  static const Pattern kSelection =
      pat(FRL_OP_select, {any(kKeep), number(kSeen), number(kUnseen)});
  const Type type = graph.type(mask).type;
  if (graph.known(mask)) return {mask, graph.known(mask), type};
  Match found{graph};
  const NodeId maker = graph.value(mask).maker;
  if (maker == kNoNode || !match(graph, nullptr, maker, kSelection, &found)) return {mask};
  return {found[kKeep], graph.known(found[kKeep]), type, found.number(kSeen),
          found.number(kUnseen)};
}

Result<bool> run(Graph& graph, PassContext& context) {
  bool changed = false;
  std::map<std::tuple<ValueId, double, double>, bool> known;  // layers share a triangle
  const size_t n_nodes = graph.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Node node = graph.node(NodeId(i));
    if (node.op != FRL_OP_attention || node.operands.size() < 4) continue;
    const KnownMask mask = known_mask(graph, graph.resolve(node.operands[3]));
    if (!mask.elements) continue;
    const auto key = std::tuple(mask.source, mask.seen, mask.unseen);
    const auto [found, is_new] = known.emplace(key, false);
    if (is_new)
      found->second = is_triangle(mask, graph.shape(node.operands[0]).from_end(-2),
                                  graph.shape(node.operands[1]).from_end(-2));
    if (!found->second) continue;
    const Value& source = graph.value(mask.source);
    if (context.read_parameters && source.role == Role::parameter)
      context.read_parameters->insert(source.name);
    graph.set_sources(node.sources), graph.set_device(node.device);
    Attributes attributes = node.attributes;
    attributes.set_i(FRL_AT_attention_mask, Mask::causal);
    FRL_LET(const ValueId by, graph.emit(FRL_OP_attention, std::move(attributes),
                                         {node.operands[0], node.operands[1], node.operands[2]}));
    graph.replace(node.results[0], by);
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass recognise_causal = {
    .name = "recognise_causal",
    .doc = "attention with a constant triangle for a mask is causal",
    .run = run,
};

}  // namespace ferrule
