#include "conformance/families/bounded.h"

#include <cstring>

#include "core/base/text.h"
#include "core/claim/match.h"
#include "core/op/walk.h"

namespace ferrule::conformance {
namespace {

// The subject's graph with every extent `from` of its operands a given symbol.
Result<Graph> with_symbol(const Subject& subject, int64_t from) {
  Graph graph("case");
  const uint32_t symbol = graph.add_symbol({"n", 0, from, 1, false});
  std::vector<ValueId> ids;
  for (size_t i = 0; i < subject.operands.size(); ++i) {
    TensorType type = subject.operands[i].type;
    for (size_t axis = 0; axis < type.shape.rank(); ++axis)
      if (type.shape[axis] == from) type.shape.set(axis, {from, symbol});
    ids.push_back(type.type == Type::none ? kNoValue : graph.add_input(type, cat(i)));
  }
  FRL_LET(const NodeId id, graph.emit_node(subject.op, subject.attributes, std::move(ids)));
  const std::vector<ValueId> results = graph.node(id).results;
  for (size_t r = 0; r < results.size(); ++r) graph.add_output(results[r], cat("y", r));
  return graph;
}

// The same as the body of a pointwise region.
Result<Graph> wrapped(const Subject& subject, const Graph& lone) {
  auto body = std::make_shared<Graph>("body");
  body->share_symbols(lone);
  std::vector<ValueId> ids;
  for (ValueId id : lone.inputs())
    ids.push_back(body->add_input(lone.type(id), lone.value(id).name));
  FRL_LET(const ValueId y, body->emit(subject.op, subject.attributes, ids));
  body->add_output(y, "y");
  return one_region(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), body);
}

// The part of a tensor that is there when the symbol has this extent.
Tensor cut(const Tensor& tensor, const Shape& bounds, int64_t extent) {
  Shape shape = bounds;
  for (size_t axis = 0; axis < bounds.rank(); ++axis)
    if (bounds.dim(axis).symbol) shape.set(axis, {extent, 0});
  Tensor out(TensorType{tensor.element(), shape});
  const int64_t width = size_bytes(tensor.element());
  const Strides strides = row_major(bounds);
  std::byte* to = out.mutable_data();
  for (Odometer at(shape); at.more(); at.next(), to += width)
    std::memcpy(to, tensor.bytes().data() + at.offset(strides) * width, size_t(width));
  return out;
}

void add_extents(std::vector<Case>& cases, const std::string& name, const Subject& subject,
                 const Graph& graph, int64_t most) {
  auto shared = std::make_shared<const Graph>(graph);
  for (int64_t extent : {most, most - 1, int64_t{1}, int64_t{0}}) {
    if (extent == most - 1 && extent <= 1) continue;
    const std::string full = cat(name, "/given_", extent, "_of_", most);
    cases.push_back({full,
                     [shared, subject, extent, full](const Target& t) {
                       std::vector<Tensor> inputs =
                           inputs_of(subject, *shared, Style::ramp, seed_of(full, t.seed));
                       for (size_t i = 0; i < inputs.size(); ++i)
                         inputs[i] = cut(inputs[i], shared->shape(shared->inputs()[i]), extent);
                       RunOptions options;
                       options.extents = {extent};
                       Outcome out = check_run(t, *shared, inputs, options);
                       return out.verdict == Verdict::not_claimed ? pass(1) : out;
                     },
                     text_of(shared, {.extents = {extent}})});
  }
}

}  // namespace

void list_bounded(const Target& target, std::vector<Case>& cases, const Claim& claim,
                  size_t number) {
  if (!(claim.shapes & (FRL_SHAPES_BOUNDED | FRL_SHAPES_DYNAMIC)) || target.depth == Depth::smoke)
    return;
  const bool pointwise = claim.op == FRL_OP_pointwise;
  DeviceRow alone;
  alone.claims = {claim};
  for (OpId member : pointwise ? claim.members : std::vector<OpId>{claim.op}) {
    const OpRow* op = find_op(member);
    if (!op || op->form == Form::control || op->form == Form::open) continue;
    for (Type type : {Type::f32, Type::i32, Type::f16})
      for (const Subject& subject : subjects_of(op->id, type)) {
        if (subject.operands.empty() || subject.operands[0].type.shape.rank() == 0 ||
            subject.label == "long")
          continue;
        const int64_t most = subject.operands[0].type.shape[0];
        auto graph = with_symbol(subject, most);
        if (graph.ok() && pointwise) graph = wrapped(subject, *graph);
        if (!graph.ok() || most < 2) continue;
        if (match_claims(alone, *graph, graph->node(NodeId(0)), FRL_COMPUTE_IEEE).claim)
          add_extents(cases,
                      cat("E/", claim.name, "/row_", number, "/", op->name, "/", type_name(type),
                          "/", subject.label),
                      subject, *graph, most);
      }
  }
}

}  // namespace ferrule::conformance
