// The order in which the nodes of a graph are imported.
#include <functional>
#include <unordered_set>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

using Names = std::unordered_map<std::string_view, uint32_t>;

// Every name from outside that a node or a body inside it mentions.
template <class Fn>
void each_name(const onnx::NodeProto& node, Fn fn) {
  for (const std::string_view input : node.inputs) fn(input);
  for (const onnx::AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    const onnx::GraphProto& graph = *attribute.graph;
    std::unordered_set<std::string_view> own;
    for (const onnx::ValueProto& input : graph.inputs) own.insert(input.name);
    for (const onnx::TensorProto& tensor : graph.initializers) own.insert(tensor.name);
    for (const onnx::NodeProto& inner : graph.nodes)
      own.insert(inner.outputs.begin(), inner.outputs.end());
    const std::function<void(std::string_view)> outside = [&](std::string_view name) {
      if (!own.contains(name)) fn(name);
    };
    for (const onnx::NodeProto& inner : graph.nodes) each_name(inner, outside);
    for (const onnx::ValueProto& output : graph.outputs) outside(output.name);
  }
}

}  // namespace

Result<std::vector<uint32_t>> schedule(std::span<const onnx::NodeProto> nodes,
                                       std::span<const std::string_view> wanted) {
  Names maker;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (const std::string_view output : nodes[i].outputs)
      if (!output.empty()) maker.emplace(output, i);
  const auto makers = [&](uint32_t number) {
    std::vector<uint32_t> out;
    each_name(nodes[number], [&](std::string_view name) {
      const auto found = maker.find(name);
      if (found != maker.end()) out.push_back(found->second);
    });
    return out;
  };
  // Which nodes are needed, and then those in the file's order, each after what it needs.
  std::vector<bool> needed(nodes.size());
  std::vector<uint32_t> open;
  const auto need = [&](uint32_t number) {
    if (needed[number]) return;
    needed[number] = true;
    open.push_back(number);
  };
  for (const std::string_view name : wanted)
    if (const auto found = maker.find(name); found != maker.end()) need(found->second);
  while (!open.empty()) {
    const uint32_t number = open.back();
    open.pop_back();
    for (const uint32_t before : makers(number)) need(before);
  }
  enum Mark : uint8_t { unseen, entered, placed };
  std::vector<Mark> marks(nodes.size(), unseen);
  std::vector<uint32_t> order;
  for (uint32_t first = 0; first < nodes.size(); ++first) {
    if (needed[first]) open.push_back(first);
    while (!open.empty()) {
      const uint32_t number = open.back();
      if (marks[number] == unseen) {
        marks[number] = entered;
        for (const uint32_t before : makers(number)) {
          if (marks[before] == unseen) open.push_back(before);
          if (marks[before] == entered)
            return Status(Code::invalid_argument,
                          cat("node '", nodes[before].name, "' (", nodes[before].op,
                              "): want no cycle, got its own result as an input"));
        }
        continue;
      }
      open.pop_back();
      if (marks[number] == placed) continue;
      marks[number] = placed;
      order.push_back(number);
    }
  }
  return order;
}

}  // namespace ferrule
