// The text form, writing side. One line a leaf or node; bodies follow their node.
#include "core/base/text.h"
#include "core/graph/graph.h"
#include "core/graph/text_form.h"

namespace ferrule {
namespace {

std::string value_text(ValueId id) { return id == kNoValue ? "none" : cat("%", index(id)); }

std::string elements_text(const Tensor& tensor) {
  const int64_t n = tensor.n_elements();
  if (n > kMostElementsInText)
    return cat(" hash ", int64_t(hash_bytes(tensor.bytes().data(), tensor.bytes().size()) >> 1));
  std::string out = " =";
  for (int64_t i = 0; i < n; ++i)
    out += cat(" ", is_float(tensor.element()) ? number_text(tensor.at_f64(i))
                                               : std::to_string(tensor.at_i64(i)));
  return out;
}

// A type id prints as a type, an op id as an op.
std::string integer_text(const AttributeRow& row, int64_t value) {
  switch (text_meaning(row)) {
    case TextMeaning::type:
      return std::string(type_name(Type(value)));
    case TextMeaning::op: {
      const OpRow* op = value > 0 ? find_op(OpId(value)) : nullptr;
      return op ? op->name : std::to_string(value);
    }
    case TextMeaning::number:
      break;
  }
  return std::to_string(value);
}

std::string attribute_text(const AttributeRow& row, const Attribute& attribute) {
  switch (row.kind) {
    case AttributeKind::integer:
      return integer_text(row, attribute.i);
    case AttributeKind::real:
      return number_text(attribute.f);
    case AttributeKind::text:
      return json_quote(attribute.text);
    case AttributeKind::list:
      break;
  }
  std::string out = "[";
  for (size_t i = 0; i < attribute.list.size(); ++i)
    out += cat(i ? "," : "", integer_text(row, attribute.list[i]));
  return out + "]";
}

// Attributes that differ from their defaults.
std::string attributes_text(const Node& node) {
  const Attributes defaults(node.op);
  std::string out;
  for (const AttributeRow& row : attribute_rows(node.op)) {
    if (node.attributes[row.slot] == defaults[row.slot]) continue;
    out += cat(out.empty() ? " {" : ", ", row.name, "=",
               attribute_text(row, node.attributes[row.slot]));
  }
  return out.empty() ? out : out + "}";
}

void write(std::string& out, const Graph& graph, const std::string& indent) {
  const auto leaf = [&](ValueId id, std::string_view word) {
    const Value& value = graph.value(id);
    out += cat(indent, value_text(id), " = ", word, " ", to_string(value.type));
    if (value.role != Role::literal) out += cat(" ", json_quote(value.name));
    if (graph.known(id)) out += elements_text(value.known);
    out += '\n';
  };
  for (ValueId id : graph.inputs())
    leaf(id, graph.value(id).role == Role::state ? "state" : "input");
  for (size_t i = 0; i < graph.n_values(); ++i) {
    const Role role = graph.value(ValueId(i)).role;
    if (role == Role::parameter) leaf(ValueId(i), "parameter");
    if (role == Role::literal) leaf(ValueId(i), "literal");
  }
  for (const Node& node : graph.nodes()) {
    out += indent;
    for (size_t r = 0; r < node.results.size(); ++r)
      out += cat(r ? ", " : "", value_text(node.results[r]));
    out += cat(" = ", node.kind_name.empty() ? op_row(node.op).name : node.kind_name);
    for (size_t i = 0; i < node.operands.size(); ++i)
      out += cat(i ? ", " : " ", value_text(node.operands[i]));
    out += attributes_text(node) + "\n";
    for (const Body& body : node.bodies) {
      out += cat(indent, "body\n");
      write(out, *body, indent + "  ");
    }
  }
  out += indent + "return";
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output& output = graph.outputs()[i];
    out += cat(i ? ", " : " ", value_text(output.value), " ", json_quote(output.name),
               output.droppable ? " droppable" : "");
    for (const StatePair& pair : graph.state_pairs())
      if (pair.output == i) out += cat(" updates ", value_text(pair.leaf));
  }
  out += '\n';
}

}  // namespace

TextMeaning text_meaning(const AttributeRow& row) {
  const std::string_view name = row.name;
  if (name == "to") return TextMeaning::type;
  if (name == "by" || name == "activation" || name == "activations") return TextMeaning::op;
  return TextMeaning::number;
}

std::string to_text(const Graph& graph) {
  std::string out = cat("graph ", json_quote(graph.name()), "\n");
  write(out, graph, "  ");
  return out;
}

}  // namespace ferrule
