// What explain and replay show of a case.
#include "core/base/text.h"
#include "conformance/cases/check.h"
#include "core/graph/text_form.h"

namespace ferrule::conformance {
namespace {

std::string integer_text(const AttributeRow& row, int64_t value) {
  const OpRow* op = value > 0 ? find_op(OpId(value)) : nullptr;
  const TextMeaning meaning = text_meaning(row);
  return meaning == TextMeaning::type       ? std::string(type_name(Type(value)))
         : meaning == TextMeaning::op && op ? op->name
                                            : std::to_string(value);
}

std::string attribute_text(const AttributeRow& row, const Attribute& attribute) {
  if (row.kind == AttributeKind::integer) return integer_text(row, attribute.i);
  if (row.kind == AttributeKind::real) return number_text(attribute.f);
  if (row.kind == AttributeKind::text) return json_quote(attribute.text);
  std::vector<std::string> out;
  for (int64_t value : attribute.list) out.push_back(integer_text(row, value));
  return cat("[", join(out, ","), "]");
}

// All of them: the graph's own text leaves out what stands at its default.
std::string attributes_text(const Node& node) {
  std::vector<std::string> out;
  for (const AttributeRow& row : attribute_rows(node.op))
    out.push_back(cat(row.name, "=", attribute_text(row, node.attributes[row.slot])));
  return out.empty() ? std::string() : cat("  with     ", join(out), "\n");
}

// A line about what is not dense, at the start of its buffer, and of its own memory.
std::string lay_text(const char* what, size_t number, const Lay& lay) {
  std::string out;
  if (!lay.strides.empty()) {
    std::vector<std::string> strides;
    for (int64_t s : lay.strides) strides.push_back(std::to_string(s));
    out += cat(", strides [", join(strides, ","), "]");
  }
  if (lay.offset_elements) out += cat(", from element ", lay.offset_elements, " on");
  if (lay.on_input >= 0) out += cat(", on operand ", lay.on_input);
  if (lay.parameter) out += ", a weight";
  return out.empty() ? out : cat("  lies     ", what, " ", number, out, "\n");
}

}  // namespace

CaseText text_of(std::shared_ptr<const Graph> one_node, const RunOptions& options) {
  return [one_node, options](const Target&) {
    std::string out = "  region\n";
    for (const std::string& line : split(to_text(*one_node), '\n'))
      if (!line.empty()) out += cat("    ", line, "\n");
    out += attributes_text(one_node->node(NodeId(0)));
    for (size_t i = 0; i < options.operands.size(); ++i)
      out += lay_text("operand", i, options.operands[i]);
    for (size_t i = 0; i < options.results.size(); ++i)
      out += lay_text("result", i, options.results[i]);
    if (options.compute != FRL_COMPUTE_IEEE) out += cat("  compute  ", options.compute, "\n");
    if (options.late) out += "  bound    with each submit\n";
    if (options.imported) out += "  memory   the caller's, imported\n";
    for (int64_t extent : options.extents) out += cat("  extent   ", extent, " at submit\n");
    return out;
  };
}

}  // namespace ferrule::conformance
