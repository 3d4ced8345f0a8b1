// The grower: a graph, and the values that the next step may start from.
#pragma once

#include "conformance/cases/recipe.h"
#include "core/base/text.h"
#include "tests/property/grow.h"

namespace ferrule::property {

constexpr int64_t kMostElements = 700;  // of one value
constexpr Type kTypes[] = {Type::f32, Type::f32, Type::f32,     Type::f32,  Type::f64, Type::f16,
                           Type::i32, Type::i64, Type::boolean, Type::bf16, Type::u8};
constexpr OpId kTame[] = {FRL_OP_neg,     FRL_OP_abs,  FRL_OP_relu,       FRL_OP_tanh,
                          FRL_OP_sigmoid, FRL_OP_silu, FRL_OP_gelu,       FRL_OP_add,
                          FRL_OP_add,     FRL_OP_sub,  FRL_OP_mul,        FRL_OP_mul,
                          FRL_OP_max,     FRL_OP_min,  FRL_OP_hard_swish, FRL_OP_identity};

class Grower {
 public:
  explicit Grower(uint64_t seed) : chance_(seed), seed_(seed) {
    const double kind = chance_.unit();
    style_ = kind < 0.88   ? conformance::Style::data
             : kind < 0.94 ? conformance::Style::special
                           : conformance::Style::wide;
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
  ValueId adapted(const TensorType& type);

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
  Status plant_subject();

  Status plant(const conformance::Subject& subject);
  Status status_of(Result<NodeId> made) {
    const Status status = made.status();
    added(std::move(made));
    return status;
  }

  // Of every pass as often.
  const Plant& any_plant();
  Status plant_case();
  // Values about 1, of integers -1 to 1.
  Tensor tame(const TensorType& type) {
    Tensor out(type);
    for (int64_t i = 0; i < out.n_elements(); ++i)
      out.set_f64(i, double(chance_.below(23)) / 8 - 1.25);
    return out;
  }
  // The case with another extent or type throughout.
  void vary(Sample& sample);

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

  ValueId pointwise(ValueId x);
  // An operand that broadcasts with the type.
  ValueId beside(const TensorType& type);

  Status grow_shape();
  ValueId reshaped(ValueId x);
  ValueId sliced(ValueId x);
  ValueId along(ValueId x);
  ValueId product(ValueId x);

  Grown finish();

  Chance chance_;
  uint64_t seed_;
  conformance::Style style_ = conformance::Style::data;
  Graph graph_{"g"};
  std::vector<Tensor> inputs_;
  std::vector<ValueId> pool_;
  std::vector<ValueId> droppable_;
  std::vector<std::string> claims_;
  size_t parameters_ = 0;
};

}  // namespace ferrule::property
