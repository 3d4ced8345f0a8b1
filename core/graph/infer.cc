// Result types of every node: plain ops by their shape rule, the rest by their bodies.
#include <algorithm>

#include "core/base/text.h"
#include "core/graph/batch.h"

namespace ferrule {
namespace {

using Types = std::vector<TensorType>;
using Operands = std::vector<const TensorType*>;

Status wrong(const OpRow& row, std::string text) {
  return Status(Code::invalid_argument, cat(row.name, ": ", text));
}

// The body's inputs must be exactly `given`.
Status check_inputs(const OpRow& row, const Graph& body, std::span<const TensorType> given) {
  const auto inputs = body.inputs();
  if (inputs.size() != given.size())
    return wrong(row, cat("want a body with ", given.size(), " inputs, got ", inputs.size()));
  for (size_t i = 0; i < given.size(); ++i)
    if (body.type(inputs[i]) != given[i])
      return wrong(row, cat("want body input ", i, " ", to_string(given[i]), ", got ",
                            to_string(body.type(inputs[i]))));
  return {};
}

Types output_types(const Graph& body) {
  Types types;
  for (const Output& output : body.outputs()) types.push_back(body.type(output.value));
  return types;
}

Types all_types(const Operands& operands, size_t from) {
  Types types;
  for (size_t i = from; i < operands.size(); ++i)
    if (operands[i]) types.push_back(*operands[i]);
  return types;
}

bool is_condition(const TensorType& type) {
  return type.type == Type::boolean && type.shape.n_elements() == 1 && type.shape.is_exact();
}

Result<Types> infer_if(const OpRow& row, const Operands& operands,
                       const std::vector<Body>& bodies) {
  if (!operands[0] || !is_condition(*operands[0])) return wrong(row, "want one bool as condition");
  const Types given = all_types(operands, 1);
  for (const Body& body : bodies) FRL_TRY(check_inputs(row, *body, given));
  Types types = output_types(*bodies[0]);
  if (types != output_types(*bodies[1]))
    return wrong(row, "want both bodies to give the same types");
  return types;
}

Result<Types> infer_while(const OpRow& row, const Attributes& attributes, const Operands& operands,
                          const std::vector<Body>& bodies) {
  const Types given = all_types(operands, 0);
  const int64_t carried = attributes.i(FRL_AT_while_carried);
  if (carried < 1 || carried > int64_t(given.size()))
    return wrong(row, cat("want 1 to ", given.size(), " carried values, got ", carried));
  for (const Body& body : bodies) FRL_TRY(check_inputs(row, *body, given));
  const Types condition = output_types(*bodies[0]);
  if (condition.size() != 1 || !is_condition(condition[0]))
    return wrong(row, "want a condition body that gives one bool");
  const Types types(given.begin(), given.begin() + carried);
  if (output_types(*bodies[1]) != types)
    return wrong(row, "want a step body that gives the carried values' types");
  return types;
}

// `type` without (or, with length, widened by) the axis counted from the end of the whole tensor.
Result<TensorType> without_axis(const OpRow& row, const TensorType& type, int64_t axis,
                                int64_t length) {
  const int64_t rank = int64_t(type.shape.rank());
  if (axis >= 0 || axis < -rank)
    return wrong(row, cat("want an axis in -", rank, " .. -1, got ", axis));
  TensorType out{type.type, {}};
  for (int64_t i = 0; i < rank; ++i)
    if (i != rank + axis) out.shape.push_back(type.shape.dim(size_t(i)));
  if (type.shape[size_t(rank + axis)] != length)
    return wrong(row, cat("want ", length, " slices, got ", to_string(type)));
  return out;
}

Result<TensorType> with_axis(const OpRow& row, const TensorType& type, int64_t axis,
                             int64_t length) {
  const int64_t rank = int64_t(type.shape.rank()) + 1;
  if (axis >= 0 || axis < -rank || rank > int64_t(kMaxRank))
    return wrong(
        row, cat("want an axis in -", rank, " .. -1 and at most ", kMaxRank, " axes, got ", axis));
  TensorType out{type.type, {}};
  for (int64_t i = 0, from = 0; i < rank; ++i)
    if (i == rank + axis)
      out.shape.push_back(length);
    else
      out.shape.push_back(type.shape.dim(size_t(from++)));
  return out;
}

Result<Types> infer_scan(const OpRow& row, const Attributes& attributes, const Operands& operands,
                         const std::vector<Body>& bodies) {
  const Types given = all_types(operands, 0);
  const Graph& body = *bodies[0];
  const int64_t carried = attributes.i(FRL_AT_scan_carried),
                sliced = attributes.i(FRL_AT_scan_sliced);
  const int64_t length = attributes.i(FRL_AT_scan_length),
                n_outputs = int64_t(body.outputs().size());
  const auto& axes = attributes.list(FRL_AT_scan_axes);
  if (carried < 0 || sliced < 0 || length < 0 || carried > n_outputs ||
      carried > int64_t(given.size()) || sliced > int64_t(given.size()) - carried ||
      int64_t(axes.size()) != sliced + n_outputs - carried)
    return wrong(row,
                 "want counts of carried and sliced values that fit the operands, and an axis for "
                 "each slice");
  Types inner = given;
  for (int64_t i = 0; i < sliced; ++i) {
    FRL_LET(inner[size_t(carried + i)],
            without_axis(row, given[size_t(carried + i)], axes[size_t(i)], length));
  }
  FRL_TRY(check_inputs(row, body, inner));
  Types types = output_types(body);
  for (int64_t i = 0; i < carried; ++i)
    if (types[size_t(i)] != given[size_t(i)])
      return wrong(
          row, cat("want carried value ", i, " to keep its type ", to_string(given[size_t(i)])));
  for (int64_t i = carried; i < n_outputs; ++i) {
    FRL_LET(types[size_t(i)],
            with_axis(row, types[size_t(i)], axes[size_t(sliced + i - carried)], length));
  }
  return types;
}

// Extents that fit one by one may be too many elements together.
Result<Types> checked_types(const OpRow& row, Result<Types> types) {
  if (!types.ok()) return types;
  for (const TensorType& type : *types)
    if (const auto extents = type.shape.extents();
        !Shape::checked(std::span(extents).first(type.shape.rank())).ok())
      return wrong(row, cat("want results of at most 2^59 elements, got ", to_string(type)));
  return types;
}

}  // namespace

Result<std::vector<TensorType>> Graph::infer_node(OpId op, const Attributes& attributes,
                                                  const std::vector<ValueId>& operands,
                                                  const std::vector<Body>& bodies) {
  Operands types;
  for (ValueId operand : operands) types.push_back(operand == kNoValue ? nullptr : &type(operand));
  if (op & FRL_VENDOR) {
    if (bodies.size() != 1) return Status(Code::internal, "vendor kind: want one body");
    return output_types(*bodies[0]);
  }
  const OpRow* row = find_op(op);
  if (!row)
    return Status(Code::invalid_argument, cat("op: want 1 to ", op_rows().size(), ", got ", op));
  if (bodies.size() != row->n_bodies)
    return wrong(*row, cat("want ", row->n_bodies, " bodies, got ", bodies.size()));
  switch (row->form) {
    case Form::pointwise:
    case Form::plain:
      return infer_results({*row, attributes, types});
    case Form::closed: {
      FRL_LET(const Graph body, expand(op, attributes, types));
      return output_types(body);
    }
    case Form::open:
      if (op == FRL_OP_batch)
        return checked_types(*row, batch_types(attributes, *bodies[0], all_types(types, 0)));
      FRL_TRY(check_inputs(*row, *bodies[0], all_types(types, 0)));
      return output_types(*bodies[0]);
    case Form::control:
      break;
  }
  if (operands.empty()) return wrong(*row, "want operands, got none");
  if (op == FRL_OP_if) return infer_if(*row, types, bodies);
  if (op == FRL_OP_while) return infer_while(*row, attributes, types, bodies);
  return checked_types(*row, infer_scan(*row, attributes, types, bodies));
}

Status verify(const Graph& graph) {
  const auto broken = [&](const Node* node, std::string text) {
    return Status(Code::internal, node ? cat(graph.source_text(*node), ": ", text) : text);
  };
  std::vector<bool> made(graph.n_values());
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.n_values(); ++i) {
    const Value& value = graph.value(ValueId(i));
    if (value.role == Role::computed) continue;
    made[i] = true;
    if (value.role != Role::literal) names.push_back(value.name);
    if (value.role >= Role::parameter && value.role != Role::state &&
        value.known.type() != value.type)
      return broken(nullptr,
                    cat("leaf ", value.name, ": want elements of ", to_string(value.type)));
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return broken(nullptr, cat("leaf name: want it once, got ", *twice, " twice"));
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    std::vector<const TensorType*> types;
    for (ValueId operand : node.operands) {
      if (operand != kNoValue && (index(operand) >= graph.n_values() || !made[index(operand)]))
        return broken(&node, "operand before its maker");
      types.push_back(operand == kNoValue ? nullptr : &graph.type(operand));
    }
    for (size_t r = 0; r < node.results.size(); ++r) {
      const Value& value = graph.value(node.results[r]);
      if (value.maker != NodeId(i) || value.result != r)
        return broken(&node, "a result names another maker");
      made[index(node.results[r])] = true;
    }
    for (const Body& body : node.bodies) FRL_TRY(verify(*body));
    Graph copy;  // infer again, in a graph of leaves, and compare
    std::vector<ValueId> leaves;
    for (const TensorType* type : types)
      leaves.push_back(type ? copy.add_input(*type, cat(leaves.size())) : kNoValue);
    auto again = copy.emit_node(node.op, node.attributes, leaves, node.bodies);
    if (!again.ok()) return broken(&node, again.status().message());
    const auto& results = copy.node(*again).results;
    if (results.size() != node.results.size())
      return broken(&node, "want as many results as its op gives");
    for (size_t r = 0; r < results.size(); ++r) {
      const TensorType& want = copy.type(results[r]);
      const TensorType& got = graph.type(node.results[r]);
      if (want.type != got.type || want.shape.extents() != got.shape.extents() ||
          want.shape.rank() != got.shape.rank())
        return broken(&node,
                      cat("want result ", r, " of ", to_string(want), ", got ", to_string(got)));
    }
  }
  for (const Output& output : graph.outputs())
    if (index(output.value) >= graph.n_values() || !made[index(output.value)])
      return broken(nullptr, cat("output ", output.name, ": nothing makes it"));
  return {};
}

}  // namespace ferrule
