// What a model holds that no rule is for, all of it at once.
#include <algorithm>
#include <unordered_set>

#include "core/base/text.h"
#include "core/model/importer.h"
#include "core/model/tensor_proto.h"

namespace ferrule {
namespace {

constexpr size_t kMostNamed = 40;
// A Loop's body may be imported for a scan, unrolled, for a while, and unrolled again.
constexpr int64_t kWaysOfLoop = 4;

class Survey {
 public:
  Survey(const Model& model, const Functions& functions, int64_t most_nodes)
      : model_(model.proto()), functions_(functions), most_nodes_(most_nodes) {}

  Status run(const Model& model) {
    for (const ModelValue& input : model.inputs())
      if (input.type == Type::none && !input.has_default)
        note(cat("input '", input.name, "': ", input.type_text));
    std::unordered_set<std::string> names;
    for (const onnx::FunctionProto& each : model_.functions)
      if (!names.insert(cat(each.domain, ".", each.name, ":", each.overload)).second)
        return Status(Code::invalid_argument,
                      cat("function '", each.name, "': want it once, got it twice"));
    FRL_TRY(check_opsets(model_.opsets));
    FRL_TRY(check_graph(model_.graph));
    FRL_TRY(graph(model_.graph, model_.opsets, 0));
    if (found_.empty()) return {};
    return Status(Code::unsupported, cat("not supported: ", join(found_, "; "),
                                         n_unnamed_ ? cat("; and ", n_unnamed_, " more") : ""));
  }

 private:
  using Opsets = std::vector<onnx::OpsetProto>;

  void note(std::string what) {
    if (std::find(found_.begin(), found_.end(), what) != found_.end()) return;
    if (found_.size() < kMostNamed)
      found_.push_back(std::move(what));
    else
      ++n_unnamed_;
  }

  void tensor(const onnx::TensorProto& proto, const std::string& where) {
    if (onnx::element_type(proto.data_type) == Type::none)
      note(cat(where, ": element type ", onnx::data_type_name(proto.data_type)));
  }

  Status graph(const onnx::GraphProto& graph, const Opsets& opsets, int depth) {
    for (const onnx::TensorProto& proto : graph.initializers)
      tensor(proto, cat("initializer '", proto.name, "'"));
    for (const onnx::SparseProto& proto : graph.sparse_initializers)
      tensor(proto.values, cat("initializer '", proto.values.name, "'"));
    for (const onnx::NodeProto& each : graph.nodes) FRL_TRY(node(each, opsets, depth));
    return {};
  }

  Status node(const onnx::NodeProto& node, const Opsets& opsets, int depth) {
    const int64_t opset = opset_of(opsets, node.domain);
    const std::string domain = node.domain.empty() ? "" : cat(node.domain, " ");
    const std::string label =
        cat("node '", !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0],
            "' (", node.op, ", ", domain, "opset ", opset, ")");
    FRL_TRY(count(1, label));
    const onnx::FunctionProto* called = functions_.find(node);
    const ImportRow* row = called ? nullptr : find_row(node.domain, node.op, opset);
    FRL_TRY(check_node(node, row, opset).within(label));
    if (!row && !called) {
      note(label);
      return {};
    }
    const auto known = split(row ? row->attributes : "", ' ');
    for (const onnx::AttributeProto& attribute : node.attributes) {
      const bool is_known = std::find(known.begin(), known.end(), attribute.name) != known.end();
      if (!is_known && !called && attribute.name != "consumed_inputs")
        note(cat(label, ": attribute '", attribute.name, "'"));
      if (attribute.tensor) tensor(*attribute.tensor, label);
      if (attribute.graph) FRL_TRY(body(*attribute.graph, opsets, depth, node.op, label));
    }
    return called ? function(*called, label, depth) : Status();
  }

  Status body(const onnx::GraphProto& body, const Opsets& opsets, int depth, std::string_view op,
              const std::string& label) {
    const int64_t before = n_nodes_;
    FRL_TRY(check_graph(body).within(label));
    FRL_TRY(graph(body, opsets, depth + 1));
    return op == "Loop" ? count((kWaysOfLoop - 1) * (n_nodes_ - before), label) : Status();
  }

  // Calls double from function to function in a file of a few lines: the sum is known before any
  // of them is imported.
  Status count(int64_t n_more, const std::string& label) {
    n_nodes_ += n_more;
    if (n_nodes_ <= most_nodes_) return {};
    return Status(Code::out_of_limits, cat(label, ": want at most ", most_nodes_,
                                           " nodes with the calls of functions written out, got ",
                                           n_nodes_, " up to here"));
  }

  Status function(const onnx::FunctionProto& function, const std::string& label, int depth) {
    if (depth >= kMostNested)
      return Status(Code::out_of_limits,
                    cat(label, ": want at most ", kMostNested, " nested bodies and calls"));
    constexpr int64_t kOpen = -1;
    const auto [called, is_new] = n_called_.emplace(&function, kOpen);
    if (!is_new && called->second == kOpen)
      return Status(Code::invalid_argument, cat(label, ": want no cycle of calls, got function '",
                                                function.name, "' in itself"));
    if (!is_new) return count(called->second, label);
    FRL_TRY(check_function(function));
    const int64_t before = n_nodes_;
    for (const onnx::NodeProto& each : function.nodes)
      FRL_TRY(node(each, function.opsets, depth + 1));
    n_called_[&function] = n_nodes_ - before;
    return {};
  }

  const onnx::ModelProto& model_;
  const Functions& functions_;
  std::vector<std::string> found_;
  size_t n_unnamed_ = 0;
  const int64_t most_nodes_;
  int64_t n_nodes_ = 0;
  std::unordered_map<const void*, int64_t> n_called_;  // by function: the nodes of one call
};

}  // namespace

Status survey(const Model& model, const Functions& functions, int64_t most_nodes) {
  return Survey(model, functions, most_nodes).run(model);
}

const ImportRow* find_row(std::string_view domain, std::string_view op, int64_t opset) {
  static const auto* rows = [] {
    auto* map = new std::unordered_map<std::string_view, std::vector<const ImportRow*>>;
    for (const auto family :
         {math_rows(), shape_rows(), index_rows(), reduce_rows(), constant_rows(), conv_rows(),
          resize_rows(), norm_rows(), attention_rows(), einsum_rows(), rnn_rows(), quant_rows(),
          loss_rows(), signal_rows(), control_rows(), loop_rows(), sequence_rows()})
      for (const ImportRow& row : family) (*map)[row.op].push_back(&row);
    return map;
  }();
  if (domain == "ai.onnx") domain = "";
  const auto found = rows->find(op);
  if (found == rows->end()) return nullptr;
  for (const ImportRow* row : found->second)
    if (row->domain == domain && opset >= row->since && opset <= row->until) return row;
  return nullptr;
}

}  // namespace ferrule
