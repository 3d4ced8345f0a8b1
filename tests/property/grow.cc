#include "tests/property/grow.h"

#include <algorithm>

#include "conformance/cases/recipe.h"
#include "core/base/text.h"

namespace ferrule::property {
namespace {

using conformance::OperandSpec;
using conformance::Style;
using conformance::Subject;

constexpr int64_t kMostElements = 700;  // of one value
constexpr Type kTypes[] = {Type::f32, Type::f32, Type::f32,     Type::f32,  Type::f64, Type::f16,
                           Type::i32, Type::i64, Type::boolean, Type::bf16, Type::u8};
constexpr OpId kTame[] = {FRL_OP_neg,     FRL_OP_abs,  FRL_OP_relu,       FRL_OP_tanh,
                          FRL_OP_sigmoid, FRL_OP_silu, FRL_OP_gelu,       FRL_OP_add,
                          FRL_OP_add,     FRL_OP_sub,  FRL_OP_mul,        FRL_OP_mul,
                          FRL_OP_max,     FRL_OP_min,  FRL_OP_hard_swish, FRL_OP_identity};

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

class Grower {
 public:
  explicit Grower(uint64_t seed) : chance_(seed), seed_(seed) {
    const double kind = chance_.unit();
    style_ = kind < 0.88 ? Style::data : kind < 0.94 ? Style::special : Style::wide;
  }

  Grown run() {
    const int64_t steps = chance_.between(1, 7);
    for (int64_t step = 0; step < steps; ++step) {
      const double kind = chance_.unit();
      const Status status = kind < 0.3    ? plant_case()
                            : kind < 0.6  ? plant_subject()
                            : kind < 0.85 ? grow_chain()
                                          : grow_shape();
      (void)status;  // what does not fit is left out
    }
    if (graph_.n_nodes() == 0) (void)grow_chain();
    return finish();
  }

 private:
  // ---- leaves ----
  ValueId input(Tensor tensor) {
    const ValueId id = graph_.add_input(tensor.type(), cat("x", inputs_.size()));
    inputs_.push_back(std::move(tensor));
    pool_.push_back(id);
    return id;
  }
  ValueId parameter(Tensor tensor) {
    return graph_.add_parameter(std::move(tensor), cat("w", parameters_++));
  }
  ValueId leaf(Tensor tensor) {
    return chance_.with(0.3) ? parameter(std::move(tensor)) : input(std::move(tensor));
  }
  Tensor numbers(const TensorType& type, OpId domain = 0) {
    return conformance::fill(type, style_, chance_.bits(), domain);
  }
  ValueId literal(Type type) {
    constexpr double kNumbers[] = {0, 1, 0, 1, -1, 0.5, 2, 3, 6, 0.044715, -0.0};
    return graph_.add_literal(Tensor::scalar(type, chance_.of(kNumbers)));
  }

  // ---- values that are there ----
  template <class Fits>
  ValueId pooled(Fits&& fits) {
    std::vector<ValueId> found;
    for (ValueId id : pool_)
      if (graph_.shape(id).is_exact() && fits(graph_.type(id))) found.push_back(id);
    return found.empty() ? kNoValue : chance_.of(found);
  }
  // A value of the type, made out of another one if need be.
  ValueId adapted(const TensorType& type) {
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

  // The op's first result, which joins the pool; no value where it does not fit.
  ValueId emitted(OpId op, Attributes attributes, std::vector<ValueId> operands) {
    if (std::count(operands.begin(), operands.end(), kNoValue)) return kNoValue;
    return added(graph_.emit_node(op, std::move(attributes), std::move(operands)));
  }
  ValueId added(Result<NodeId> made) {
    if (!made.ok()) return kNoValue;
    for (ValueId id : graph_.node(*made).results) pool_.push_back(id);
    return pool_[pool_.size() - graph_.node(*made).results.size()];
  }

  // ---- steps ----
  Status plant_subject() {
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

  Status plant(const Subject& subject) {
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
      const bool free =
          spec.fill == conformance::Fill::style || spec.fill == conformance::Fill::unit;
      ValueId id = free && chance_.with(0.6) ? adapted(spec.type) : kNoValue;
      if (id == kNoValue) id = leaf(tensor);
      operands.push_back(id);
    }
    return status_of(graph_.emit_node(subject.op, subject.attributes, std::move(operands)));
  }
  Status status_of(Result<NodeId> made) {
    const Status status = made.status();
    added(std::move(made));
    return status;
  }

  // Of every pass as often.
  const Plant& any_plant() {
    static const std::map<std::string, std::vector<size_t>> kByPass = [] {
      std::map<std::string, std::vector<size_t>> out;
      for (size_t i = 0; i < plants().size(); ++i) out[plants()[i].pass].push_back(i);
      return out;
    }();
    return plants()[chance_.of(chance_.of(kByPass).second)];
  }
  Status plant_case() {
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
      for (ValueId id : node.operands)
        operands.push_back(id == kNoValue ? kNoValue : at[index(id)]);
      FRL_LET(const NodeId made, graph_.emit_node(node.op, node.attributes, operands, node.bodies));
      for (size_t r = 0; r < node.results.size(); ++r)
        pool_.push_back(at[index(node.results[r])] = graph_.node(made).results[r]);
    }
    for (const Output& output : from.outputs())
      if (output.droppable) droppable_.push_back(at[index(output.value)]);
    return {};
  }
  // Values about 1, of integers -1 to 1.
  Tensor tame(const TensorType& type) {
    Tensor out(type);
    for (int64_t i = 0; i < out.n_elements(); ++i)
      out.set_f64(i, double(chance_.below(23)) / 8 - 1.25);
    return out;
  }
  // The case with another extent or type throughout.
  void vary(Sample& sample) {
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

  Status grow_chain() {
    const Type type = chance_.of(kTypes);
    ValueId x = pooled([](const TensorType& t) { return t.shape.n_elements() <= kMostElements; });
    if (x == kNoValue || chance_.with(0.15)) x = input(numbers({type, random_shape()}));
    for (int64_t i = chance_.between(1, 6); i > 0 && x != kNoValue; --i) {
      const ValueId y = pointwise(x);
      if (y != kNoValue && graph_.shape(y).n_elements() <= kMostElements) x = y;
    }
    return {};
  }
  Shape random_shape() {
    Shape shape;
    for (int64_t rank = chance_.below(5); rank > 0; --rank)
      shape.push_back(chance_.with(0.02) ? 0 : chance_.between(1, 6));
    return shape;
  }

  ValueId pointwise(ValueId x) {
    OpId op = chance_.of(kTame);
    if (chance_.with(0.35)) op = OpId(chance_.between(1, FRL_OP_reshape - 1));
    const OpRow& row = op_row(op);
    const Type type = graph_.type(x).type;
    if (row.form != Form::pointwise) return kNoValue;
    Attributes attributes(op);
    if (op == FRL_OP_cast) attributes.set_i(FRL_AT_cast_to, int64_t(chance_.of(kTypes)));
    for (const AttributeRow& attribute : attribute_rows(op))
      if (attribute.kind == AttributeKind::real && chance_.with(0.3))
        attributes.set_f(attribute.slot, double(chance_.between(1, 8)) / 4);
    if (op == FRL_OP_select) {
      const ValueId other = beside(graph_.type(x));
      const ValueId condition = beside({Type::boolean, graph_.shape(x)});
      return emitted(op, attributes, {condition, x, other});
    }
    if (!(row.types & FRL_BIT(uint64_t(type)))) return kNoValue;
    std::vector<ValueId> operands = {x};
    while (operands.size() < row.min_operands) operands.push_back(beside(graph_.type(x)));
    if (chance_.with(0.4)) std::reverse(operands.begin(), operands.end());
    return emitted(op, attributes, operands);
  }
  // An operand that broadcasts with the type.
  ValueId beside(const TensorType& type) {
    if (chance_.with(0.2)) return literal(type.type);
    if (chance_.with(0.6))
      if (const ValueId id = pooled([&](const TensorType& t) {
            return t.type == type.type && broadcast(t.shape, type.shape).ok();
          });
          id != kNoValue)
        return id;
    TensorType part = {type.type, {}};
    const size_t rank = type.shape.rank(), first = size_t(chance_.below(int64_t(rank) + 1));
    for (size_t axis = chance_.with(0.5) ? 0 : first; axis < rank; ++axis)
      part.shape.push_back(chance_.with(0.25) ? 1 : type.shape[axis]);
    return leaf(numbers(part));
  }

  Status grow_shape();
  ValueId reshaped(ValueId x);
  ValueId sliced(ValueId x);
  ValueId along(ValueId x);
  ValueId product(ValueId x);

  Grown finish() {
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

  Chance chance_;
  uint64_t seed_;
  Style style_ = Style::data;
  Graph graph_{"g"};
  std::vector<Tensor> inputs_;
  std::vector<ValueId> pool_;
  std::vector<ValueId> droppable_;
  std::vector<std::string> claims_;
  size_t parameters_ = 0;
};

ValueId Grower::reshaped(ValueId x) {
  const Shape& shape = graph_.shape(x);
  std::vector<int64_t> axes, extents;
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    axes.push_back(int64_t(axis) - int64_t(shape.rank())), extents.push_back(shape[axis]);
  switch (chance_.below(4)) {
    case 0: {
      for (size_t i = axes.size(); i > 1; --i)
        std::swap(axes[i - 1], axes[size_t(chance_.below(int64_t(i)))]);
      return emitted(FRL_OP_transpose,
                     Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, axes), {x});
    }
    case 1:
      extents.insert(extents.begin() + chance_.below(int64_t(extents.size()) + 1), 1);
      break;
    case 2:
      extents = {shape.n_elements()};
      break;
    default: {
      extents.insert(extents.begin(), chance_.between(1, 3));
      return emitted(FRL_OP_broadcast,
                     Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, extents), {x});
    }
  }
  return emitted(FRL_OP_reshape, Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, extents),
                 {x});
}

// Parts of one axis side by side, each through the same ops, and joined again.
ValueId Grower::sliced(ValueId x) {
  const Shape shape = graph_.shape(x);
  const auto at = size_t(chance_.below(int64_t(shape.rank())));
  const int64_t parts = chance_.between(1, 3), extent = shape[at] / parts;
  if (extent == 0) return kNoValue;
  const OpId ops[] = {chance_.of(kTame), chance_.of(kTame)};
  std::vector<ValueId> results;
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<int64_t> starts(shape.rank(), 0), sizes;
    for (size_t axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
    starts[at] = part * extent, sizes[at] = extent;
    Attributes cut(FRL_OP_slice);
    cut.set_list(FRL_AT_slice_starts, starts).set_list(FRL_AT_slice_sizes, sizes);
    ValueId y = emitted(FRL_OP_slice, cut, {x});
    for (OpId op : ops)
      if (y != kNoValue && op_row(op).types & FRL_BIT(uint64_t(graph_.type(y).type)))
        y = emitted(op, Attributes(op), std::vector<ValueId>(op_row(op).min_operands, y));
    results.push_back(y);
  }
  return emitted(
      FRL_OP_concat,
      Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, int64_t(at) - int64_t(shape.rank())),
      results);
}

ValueId Grower::along(ValueId x) {
  const int64_t axis = -chance_.between(1, int64_t(graph_.shape(x).rank()));
  constexpr OpId kBy[] = {FRL_OP_add, FRL_OP_max, FRL_OP_min, FRL_OP_mul};
  switch (chance_.below(5)) {
    case 0:
      return emitted(FRL_OP_softmax, Attributes(FRL_OP_softmax).set_i(FRL_AT_softmax_axis, axis),
                     {x});
    case 1:
      return emitted(FRL_OP_cumulative,
                     Attributes(FRL_OP_cumulative).set_i(FRL_AT_cumulative_axis, axis), {x});
    case 2:
      return emitted(FRL_OP_layer_norm, Attributes(FRL_OP_layer_norm), {x});
    case 3:
      return emitted(FRL_OP_rms_norm, Attributes(FRL_OP_rms_norm), {x});
    default: {
      Attributes reduce(FRL_OP_reduce);
      reduce.set_i(FRL_AT_reduce_by, chance_.of(kBy)).set_list(FRL_AT_reduce_axes, {axis});
      reduce.set_i(FRL_AT_reduce_keep, chance_.below(2));
      return emitted(FRL_OP_reduce, reduce, {x});
    }
  }
}

// A product with weights, perhaps with a bias, another product of the same operand beside it.
ValueId Grower::product(ValueId x) {
  const TensorType type = graph_.type(x);
  if (type.shape.rank() < 2 || !is_float(type.type)) return kNoValue;
  ValueId y = kNoValue;
  for (int64_t i = chance_.between(1, 2); i > 0; --i) {
    const int64_t n = chance_.between(1, 6);
    y = emitted(FRL_OP_matmul, Attributes(FRL_OP_matmul),
                {x, parameter(numbers({type.type, {type.shape.back(), n}}))});
    if (y != kNoValue && chance_.with(0.5))
      y = emitted(FRL_OP_add, Attributes(FRL_OP_add), {y, parameter(numbers({type.type, {n}}))});
    if (y != kNoValue && chance_.with(0.5)) y = pointwise(y);
  }
  return y;
}

Status Grower::grow_shape() {
  const ValueId x = pooled([](const TensorType& t) {
    return t.shape.rank() > 0 && t.shape.n_elements() <= kMostElements;
  });
  if (x == kNoValue) return {};
  const double kind = chance_.unit();
  kind < 0.3 ? reshaped(x) : kind < 0.5 ? sliced(x) : kind < 0.75 ? along(x) : product(x);
  return {};
}

}  // namespace

Grown grow(uint64_t seed) { return Grower(seed).run(); }

}  // namespace ferrule::property
