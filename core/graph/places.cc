#include "core/graph/places.h"

#include <algorithm>

namespace ferrule {
namespace {

using Places = std::vector<int64_t>;  // by value

const Shape& shape_of(const Graph& graph, const Node& node, size_t operand) {
  return graph.shape(node.operands[operand]);
}

int64_t on_axis(const Graph& graph, const Node& node) {
  static_assert(FRL_AT_gather_axis == FRL_AT_gather_elements_axis &&
                FRL_AT_gather_axis == FRL_AT_scatter_elements_axis);
  const Shape& x = shape_of(graph, node, 0);
  const int64_t axis = node.attributes.i(FRL_AT_gather_axis);
  return x[size_t(axis < 0 ? axis + int64_t(x.rank()) : axis)];
}

// The least of the axes that one row of indices addresses.
int64_t on_axes(const Graph& graph, const Node& node) {
  const Shape& x = shape_of(graph, node, 0);
  const auto first =
      size_t(node.op == FRL_OP_gather_nd ? node.attributes.i(FRL_AT_gather_nd_batch_axes) : 0);
  int64_t least = kAnyPlace;
  for (size_t i = 0; i < size_t(shape_of(graph, node, 1).back()); ++i)
    least = std::min(least, x[first + i]);
  return least;
}

int64_t on_first(const Graph& graph, const Node& node) { return shape_of(graph, node, 0)[0]; }
int64_t ends_on_first(const Graph& graph, const Node& node) { return on_first(graph, node) + 1; }

// Operands whose elements name places.
struct Naming {
  OpId op;
  size_t operand;
  int64_t (*places)(const Graph&, const Node&);
};
constexpr Naming kNaming[] = {
    {FRL_OP_gather, 1, on_axis},           {FRL_OP_gather_elements, 1, on_axis},
    {FRL_OP_scatter_elements, 1, on_axis}, {FRL_OP_gather_nd, 1, on_axes},
    {FRL_OP_scatter_nd, 1, on_axes},       {FRL_OP_roi_align, 2, on_first},
    {FRL_OP_lstm, 4, ends_on_first},       {FRL_OP_gru, 4, ends_on_first},
    {FRL_OP_rnn, 4, ends_on_first}};

// Operands first .. last whose elements are found again in the first result.
struct Moving {
  OpId op;
  size_t first, last;
};
constexpr Moving kMoving[] = {{FRL_OP_identity, 0, 0},
                              {FRL_OP_cast, 0, 0},
                              {FRL_OP_reshape, 0, 0},
                              {FRL_OP_transpose, 0, 0},
                              {FRL_OP_broadcast, 0, 0},
                              {FRL_OP_slice, 0, 0},
                              {FRL_OP_concat, 0, 254},
                              {FRL_OP_pad, 0, 1},
                              {FRL_OP_select, 1, 2},
                              {FRL_OP_max, 0, 1},
                              {FRL_OP_min, 0, 1},
                              {FRL_OP_gather, 0, 0},
                              {FRL_OP_gather_elements, 0, 0},
                              {FRL_OP_gather_nd, 0, 0},
                              {FRL_OP_topk, 0, 0},
                              {FRL_OP_scatter_elements, 0, 0},
                              {FRL_OP_scatter_nd, 0, 0},
                              {FRL_OP_unique, 0, 0}};

// Backwards, from where places are named to where the names come from.
class Tracing {
 public:
  Tracing(const Graph& graph, std::span<const int64_t> outputs)
      : graph_(graph), places_(graph.n_values(), kAnyPlace) {
    for (size_t i = 0; i < std::min(outputs.size(), graph.outputs().size()); ++i)
      lower(graph.outputs()[i].value, outputs[i]);
  }

  Places run() {
    for (size_t i = graph_.n_nodes(); i-- > 0;) visit(graph_.node(NodeId(i)));
    Places out;
    for (const ValueId id : graph_.inputs()) out.push_back(places_[index(id)]);
    return out;
  }

 private:
  void lower(ValueId id, int64_t places) {
    if (id != kNoValue) places_[index(id)] = std::min(places_[index(id)], places);
  }

  void visit(const Node& node) {
    for (const Naming& row : kNaming)
      if (row.op == node.op && row.operand < node.operands.size())
        lower(node.operands[row.operand], row.places(graph_, node));
    for (const Moving& row : kMoving)
      for (size_t i = row.first; row.op == node.op && i <= row.last && i < node.operands.size();
           ++i)
        lower(node.operands[i], places_[index(node.results[0])]);
    for (const Body& body : node.bodies) enter(node, *body);
  }

  void enter(const Node& node, const Graph& body) {
    Places results;
    for (const ValueId id : node.results) results.push_back(places_[index(id)]);
    const Places inputs = Tracing(body, results).run();
    size_t next = 0;
    for (size_t i = node.op == FRL_OP_if ? 1 : 0; i < node.operands.size(); ++i)
      if (node.operands[i] != kNoValue && next < inputs.size())
        lower(node.operands[i], inputs[next++]);
  }

  const Graph& graph_;
  Places places_;
};

}  // namespace

std::vector<int64_t> count_places(const Graph& graph) { return Tracing(graph, {}).run(); }

}  // namespace ferrule
