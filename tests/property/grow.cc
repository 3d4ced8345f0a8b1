#include <algorithm>

#include "tests/property/grower.h"

namespace ferrule::property {
namespace {

using conformance::OperandSpec;
using conformance::Subject;

// Small subjects of the op and type, made once.
const std::vector<Subject>& small_subjects(OpId op, Type type) {
  static std::map<std::pair<OpId, Type>, std::vector<Subject>> all;
  const auto [it, is_new] = all.try_emplace({op, type});
  if (!is_new) return it->second;
  for (Subject& subject : conformance::subjects_of(op, type)) {
    bool small = true;
    for (const OperandSpec& operand : subject.operands)
      small &= operand.type.type == Type::none || operand.type.shape.n_elements() <= kMostElements;
    if (small) it->second.push_back(std::move(subject));
  }
  return it->second;
}

}  // namespace

ValueId Grower::adapted(const TensorType& type) {
  if (const ValueId id = pooled([&](const TensorType& t) { return t == type; }); id != kNoValue)
    return id;
  const int64_t n = type.shape.n_elements();
  if (n == 0 || !chance_.with(0.6)) return kNoValue;
  ValueId id = pooled([&](const TensorType& t) {
    return t.shape.n_elements() >= n && is_float(t.type) == is_float(type.type);
  });
  if (id == kNoValue) return id;
  const auto as = [&](std::vector<int64_t> shape) {
    return Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, std::move(shape));
  };
  const int64_t all = graph_.shape(id).n_elements();
  const auto extents = type.shape.extents();
  const std::vector<int64_t> shape(extents.begin(), extents.begin() + int64_t(type.shape.rank()));
  if (all != n) {
    Attributes cut(FRL_OP_slice);
    cut.set_list(FRL_AT_slice_starts, {chance_.below(all - n + 1)});
    cut.set_list(FRL_AT_slice_sizes, {n});
    id = emitted(FRL_OP_slice, cut, {emitted(FRL_OP_reshape, as({all}), {id})});
  }
  id = emitted(FRL_OP_reshape, as(shape), {id});
  if (id == kNoValue || graph_.type(id).type == type.type) return id;
  return emitted(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, int64_t(type.type)),
                 {id});
}

Status Grower::plant_subject() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const OpRow& row = op_rows()[size_t(chance_.below(int64_t(op_rows().size())))];
    const auto types = conformance::types_of(row.id);
    const Type type = chance_.of(kTypes);
    if (!std::count(types.begin(), types.end(), type)) continue;
    const auto& subjects = small_subjects(row.id, type);
    if (!subjects.empty()) return plant(chance_.of(subjects));
  }
  return {};
}

Status Grower::plant(const Subject& subject) {
  FRL_LET(const Graph one, conformance::graph_of(subject, chance_.bits()));
  const auto tensors = conformance::inputs_of(subject, one, style_, chance_.bits());
  std::vector<ValueId> operands;
  size_t next = 0;
  for (const OperandSpec& spec : subject.operands) {
    if (spec.type.type == Type::none) {
      operands.push_back(kNoValue);
      continue;
    }
    if (spec.literal) {
      Tensor known(spec.type);
      for (size_t k = 0; k < spec.values.size(); ++k) known.set_f64(int64_t(k), spec.values[k]);
      operands.push_back(graph_.add_literal(std::move(known)));
      continue;
    }
    const Tensor& tensor = tensors.at(next++);
    const bool free = spec.fill == conformance::Fill::style || spec.fill == conformance::Fill::unit;
    ValueId id = free && chance_.with(0.6) ? adapted(spec.type) : kNoValue;
    if (id == kNoValue) id = leaf(tensor);
    operands.push_back(id);
  }
  return status_of(graph_.emit_node(subject.op, subject.attributes, std::move(operands)));
}

const Plant& Grower::any_plant() {
  static const std::map<std::string, std::vector<size_t>> kByPass = [] {
    std::map<std::string, std::vector<size_t>> out;
    for (size_t i = 0; i < plants().size(); ++i) out[plants()[i].pass].push_back(i);
    return out;
  }();
  return plants()[chance_.of(chance_.of(kByPass).second)];
}

Status Grower::plant_case() {
  const Plant& plant = any_plant();
  Sample sample{plant.graph, {}};
  for (ValueId id : plant.graph.inputs()) sample.inputs.push_back(tame(plant.graph.type(id)));
  if (chance_.with(0.5)) vary(sample);
  claims_.insert(claims_.end(), plant.claims.begin(), plant.claims.end());
  const Graph& from = sample.graph;
  std::vector<ValueId> at(from.n_values(), kNoValue);
  for (size_t i = 0; i < from.inputs().size(); ++i) {
    const TensorType& type = from.type(from.inputs()[i]);
    ValueId id = is_float(type.type) && chance_.with(0.4) ? adapted(type) : kNoValue;
    at[index(from.inputs()[i])] = id == kNoValue ? input(sample.inputs[i]) : id;
  }
  for (size_t i = 0; i < from.n_values(); ++i) {
    const Value& value = from.value(ValueId(i));
    if (value.role == Role::literal) at[i] = graph_.add_literal(value.known);
    if (value.role == Role::parameter) at[i] = parameter(value.known);
  }
  for (const Node& node : from.nodes()) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(id == kNoValue ? kNoValue : at[index(id)]);
    FRL_LET(const NodeId made, graph_.emit_node(node.op, node.attributes, operands, node.bodies));
    for (size_t r = 0; r < node.results.size(); ++r)
      pool_.push_back(at[index(node.results[r])] = graph_.node(made).results[r]);
  }
  for (const Output& output : from.outputs())
    if (output.droppable) droppable_.push_back(at[index(output.value)]);
  return {};
}

void Grower::vary(Sample& sample) {
  for (int64_t i = chance_.between(1, 2); i > 0; --i) {
    Change change;
    if (chance_.with(0.6)) {
      const auto values = sample.graph.values();
      const Value& value = values[size_t(chance_.below(int64_t(values.size())))];
      if (value.type.shape.rank() == 0) continue;
      change.extent = value.type.shape[size_t(chance_.below(int64_t(value.type.shape.rank())))];
      constexpr int64_t kExtents[] = {0, 1, 1, 2, 3, 4, 5, 6, 8, 9};
      change.extent_now = chance_.of(kExtents), change.multiples = chance_.with(0.5);
    } else {
      constexpr Type kFloats[] = {Type::f64, Type::f16, Type::bf16, Type::f32};
      change.type = chance_.with(0.8) ? Type::f32 : chance_.of(kFloats);
      change.type_now = chance_.of(kFloats);
    }
    auto varied = rebuild(sample, change);
    if (varied.ok()) sample = std::move(*varied);
  }
}

Grown Grower::finish() {
  const double extra = std::max(0.0, chance_.unit() * 0.5 - 0.15);
  const auto uses = graph_.count_uses();
  size_t n = 0;
  for (size_t i = 0; i < graph_.n_values(); ++i) {
    const ValueId id = ValueId(i);
    const Value& value = graph_.value(id);
    const bool droppable = std::count(droppable_.begin(), droppable_.end(), id);
    const bool sink = value.role == Role::computed && uses[i] == 0;
    if ((sink && !chance_.with(0.04)) || droppable ||
        (value.role == Role::computed && chance_.with(extra)))
      graph_.add_output(id, cat("y", n++), droppable || chance_.with(0.05));
  }
  if (n == 0) graph_.add_output(ValueId(graph_.n_values() - 1), "y0");
  Grown out{{std::move(graph_), std::move(inputs_)}, std::move(claims_), {}};
  for (const Node& node : out.sample.graph.nodes()) out.ops.push_back(node.op);
  return out;
}

Grown grow(uint64_t seed) { return Grower(seed).run(); }

}  // namespace ferrule::property
