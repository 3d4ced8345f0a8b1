#include "core/model/bodies.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule {
namespace {

// The nodes of `from` in `to`, with their sources, the inputs bound; what the outputs are there.
Result<std::vector<ValueId>> copy_nodes(Graph& to, const Graph& from,
                                        std::span<const ValueId> bound) {
  std::vector<ValueId> there(from.n_values(), kNoValue);
  for (size_t i = 0; i < bound.size(); ++i) there[index(from.inputs()[i])] = bound[i];
  for (size_t i = 0; i < from.n_values(); ++i)
    if (const Tensor* literal = from.literal(ValueId(i))) there[i] = to.add_literal(*literal);
  for (const Source& source : from.all_sources()) to.add_source(source);
  for (const Node& node : from.nodes()) {
    std::vector<ValueId> operands;
    for (const ValueId id : node.operands)
      operands.push_back(id == kNoValue ? kNoValue : there[index(id)]);
    to.set_sources(node.sources);
    FRL_LET(const NodeId id,
            to.emit_node(node.op, node.attributes, std::move(operands), node.bodies));
    for (size_t r = 0; r < node.results.size(); ++r)
      there[index(node.results[r])] = to.node(id).results[r];
  }
  std::vector<ValueId> results;
  for (const Output& output : from.outputs()) results.push_back(there[index(output.value)]);
  return results;
}

}  // namespace

bool tensors_of(const std::vector<Entry>& entries, std::vector<Val>* out) {
  for (const Entry& entry : entries) {
    if (entry.kind != Entry::Kind::tensor) return false;
    out->push_back(entry.value);
  }
  return true;
}

Result<Bodies> close_bodies(std::span<ImportBlock* const> blocks,
                            std::span<const std::vector<Val>> outputs,
                            const std::vector<TensorType>& own) {
  std::vector<ValueId> all;
  for (const ImportBlock* block : blocks)
    for (const ValueId id : block->captured())
      if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
  ImportBlock& outer = *blocks[0]->outer();
  Bodies out;
  for (const ValueId id : all) out.captured.push_back(outer.at(id));
  for (size_t b = 0; b < blocks.size(); ++b) {
    Graph& inner = blocks[b]->graph();
    for (const Val& value : outputs[b])
      inner.add_output(value.id, cat("out", inner.outputs().size()));
    auto body = std::make_shared<Graph>(inner.name());
    std::vector<ValueId> bound;
    for (const TensorType& type : own)
      bound.push_back(body->add_input(type, cat("in", bound.size())));
    std::vector<ValueId> captured;
    for (const ValueId id : all)
      captured.push_back(body->add_input(outer.graph().type(id), cat("outer", captured.size())));
    for (const ValueId id : blocks[b]->captured())
      bound.push_back(captured[size_t(std::find(all.begin(), all.end(), id) - all.begin())]);
    inner.compact();
    FRL_LET(const auto results, copy_nodes(*body, inner, bound));
    for (const ValueId id : results) body->add_output(id, cat("out", body->outputs().size()));
    out.bodies.push_back(std::move(body));
  }
  return out;
}

}  // namespace ferrule
