#include "tests/property/rebuild.h"

#include "core/base/text.h"

namespace ferrule::property {
namespace {

// Attributes that repeat extents.
struct ExtentSlot {
  OpId op;
  uint32_t slot;
};
constexpr ExtentSlot kExtentSlots[] = {
    {FRL_OP_reshape, FRL_AT_reshape_shape}, {FRL_OP_broadcast, FRL_AT_broadcast_shape},
    {FRL_OP_slice, FRL_AT_slice_sizes},     {FRL_OP_slice, FRL_AT_slice_starts},
    {FRL_OP_resize, FRL_AT_resize_sizes},   {FRL_OP_scan, FRL_AT_scan_length},
};

int64_t changed(int64_t extent, const Change& change) {
  if (change.extent <= 0) return extent;
  if (extent == change.extent) return change.extent_now;
  if (change.multiples && extent > 0 && extent % change.extent == 0)
    return extent / change.extent * change.extent_now;
  return extent;
}

Result<TensorType> changed(const TensorType& type, const Change& change) {
  if (!type.shape.is_exact()) return Status(Code::unsupported, "rebuild: want exact leaves");
  TensorType out = type;
  if (out.type == change.type) out.type = change.type_now;
  for (size_t axis = 0; axis < out.shape.rank(); ++axis)
    out.shape.set(axis, {changed(out.shape[axis], change), 0});
  return out;
}

// Elements by place along each axis; beyond the old extent from the start again.
Tensor changed(const Tensor& tensor, const TensorType& type) {
  Tensor out(type);
  const Shape &to = type.shape, &from = tensor.shape();
  for (int64_t i = 0; i < (tensor.n_elements() ? out.n_elements() : 0); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t axis = to.rank(); axis-- > 0;) {
      at += rest % to[axis] % from[axis] * stride;
      rest /= to[axis], stride *= from[axis];
    }
    if (type.type == tensor.element())
      std::memcpy(out.mutable_data() + i * size_bytes(type.type),
                  tensor.bytes().data() + at * size_bytes(type.type),
                  size_t(size_bytes(type.type)));
    else
      out.set_f64(i, tensor.at_f64(at));
  }
  return out;
}

Tensor clamped(Tensor tensor, const Change& change) {
  for (int64_t i = 0; is_float(tensor.element()) && i < tensor.n_elements(); ++i)
    if (const double v = tensor.at_f64(i);
        std::isfinite(v) ? std::fabs(v) > change.most : change.finite)
      tensor.set_f64(i, std::copysign(change.most, v));
  return tensor;
}

Attributes changed(const Node& node, const Change& change) {
  Attributes out = node.attributes;
  if (node.op == FRL_OP_cast && out.i(FRL_AT_cast_to) == int64_t(change.type))
    out.set_i(FRL_AT_cast_to, int64_t(change.type_now));
  for (const ExtentSlot& row : kExtentSlots) {
    if (row.op != node.op) continue;
    Attribute& slot = out.slot(row.slot);
    slot.i = changed(slot.i, change);
    for (int64_t& extent : slot.list) extent = changed(extent, change);
  }
  return out;
}

class Copy {
 public:
  Copy(const Graph& from, const Change& change)
      : from_(from), change_(change), at_(from.n_values(), kNoValue), graph_(from.name()) {}

  // A body: all inputs stay.
  Result<Graph> body() {
    for (ValueId id : from_.inputs()) {
      FRL_LET(const TensorType type, changed(from_.type(id), change_));
      at_[index(id)] = graph_.add_input(type, from_.value(id).name);
    }
    FRL_TRY(copy_known());
    for (const Node& node : from_.nodes()) FRL_TRY(copy_node(node));
    for (const Output& output : from_.outputs())
      graph_.add_output(at(output.value), output.name, output.droppable);
    return std::move(graph_);
  }

  Result<Sample> top(std::span<const Tensor> inputs) {
    mark_needed();
    std::vector<Tensor> now;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = from_.inputs()[i];
      if (!needed_[index(id)]) continue;
      FRL_LET(const TensorType type, changed(from_.type(id), change_));
      at_[index(id)] = from_.value(id).role == Role::state
                           ? graph_.add_state(type, from_.value(id).name)
                           : graph_.add_input(type, from_.value(id).name);
      now.push_back(clamped(changed(inputs[i], type), change_));
    }
    for (const auto& [id, tensor] : change_.cut) {
      if (!needed_[index(id)]) continue;
      FRL_LET(const TensorType type, changed(from_.type(id), change_));
      at_[index(id)] = graph_.add_input(type, cat("cut", index(id)));
      now.push_back(changed(tensor, type));
    }
    FRL_TRY(copy_known());
    for (const Node& node : from_.nodes()) {
      bool needed = false;
      for (ValueId id : node.results) needed |= needed_[index(id)] && !change_.cut.count(id);
      if (needed) FRL_TRY(copy_node(node));
    }
    for (size_t i = 0; i < from_.outputs().size(); ++i)
      if (!change_.dropped.count(i))
        graph_.add_output(at(output(i)), from_.outputs()[i].name, from_.outputs()[i].droppable);
    graph_.compact();
    FRL_TRY(verify(graph_));
    return Sample{std::move(graph_), std::move(now)};
  }

 private:
  ValueId stands_for(ValueId id) const {
    for (auto it = change_.bypassed.find(id); it != change_.bypassed.end();
         it = change_.bypassed.find(id))
      id = it->second;
    return id;
  }
  ValueId at(ValueId id) const { return at_[index(stands_for(id))]; }
  ValueId output(size_t number) const {
    const auto it = change_.moved.find(number);
    return it == change_.moved.end() ? from_.outputs()[number].value : it->second;
  }

  void mark_needed() {
    needed_.assign(from_.n_values(), false);
    for (size_t i = 0; i < from_.outputs().size(); ++i)
      if (!change_.dropped.count(i)) needed_[index(stands_for(output(i)))] = true;
    for (size_t n = from_.n_nodes(); n-- > 0;) {
      const Node& node = from_.node(NodeId(n));
      bool needed = false;
      for (ValueId id : node.results) needed |= needed_[index(id)] && !change_.cut.count(id);
      for (ValueId id : node.operands)
        if (needed && id != kNoValue) needed_[index(stands_for(id))] = true;
    }
  }

  Status copy_known() {
    for (size_t i = 0; i < from_.n_values(); ++i) {
      const Value& value = from_.value(ValueId(i));
      if (value.known.empty() || (!needed_.empty() && !needed_[i])) continue;
      FRL_LET(const TensorType type, changed(value.type, change_));
      const Tensor tensor =
          clamped(type == value.type ? value.known : changed(value.known, type), change_);
      at_[i] = value.role == Role::literal ? graph_.add_literal(tensor)
                                           : graph_.add_parameter(tensor, value.name);
    }
    return {};
  }

  Status copy_node(const Node& node) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(id == kNoValue ? kNoValue : at(id));
    std::vector<Body> bodies;
    for (const Body& body : node.bodies) {
      FRL_LET(Graph copy, Copy(*body, change_).body());
      bodies.push_back(std::make_shared<const Graph>(std::move(copy)));
    }
    FRL_LET(const NodeId made, graph_.emit_node(node.op, changed(node, change_),
                                                std::move(operands), std::move(bodies)));
    for (size_t r = 0; r < node.results.size(); ++r) {
      const ValueId result = graph_.node(made).results[r];
      if (graph_.shape(result).n_elements() > 1 << 16)
        return Status(Code::out_of_limits, "rebuild: want small values");
      if (!change_.cut.count(node.results[r])) at_[index(node.results[r])] = result;
    }
    return {};
  }

  const Graph& from_;
  const Change& change_;
  std::vector<ValueId> at_;  // in the copy, by value
  std::vector<bool> needed_;
  Graph graph_;
};

}  // namespace

Result<Sample> rebuild(const Sample& sample, const Change& change) {
  return Copy(sample.graph, change).top(sample.inputs);
}

Result<std::map<ValueId, Tensor>> inner_values(const Sample& sample) {
  Graph graph = sample.graph;
  const size_t outputs = graph.outputs().size();
  std::vector<ValueId> ids;
  for (size_t i = 0; i < graph.n_values(); ++i)
    if (graph.value(ValueId(i)).role == Role::computed) {
      ids.push_back(ValueId(i));
      graph.add_output(ValueId(i), cat("inner", i));
    }
  FRL_LET(const auto values, evaluate(graph, sample.inputs));
  std::map<ValueId, Tensor> out;
  for (size_t i = 0; i < ids.size(); ++i) out.emplace(ids[i], values[outputs + i]);
  return out;
}

}  // namespace ferrule::property
