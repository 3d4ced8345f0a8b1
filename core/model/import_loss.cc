// Losses, and the update steps of ai.onnx.preview.training.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// Minus the weighted log probability of each target; mean is over the weights.
Val class_loss(ModelNode& n, Val log_prob, Val target, size_t weights_at) {
  static constexpr const char* kReductions[] = {"mean", "sum", "none"};
  const int64_t reduction = n.choice("reduction", "mean", kReductions);
  Ints places = log_prob.dims();
  if (places.size() >= 2) places.erase(places.begin() + 1);
  const bool fits = log_prob.rank() >= 2 && target.dims() == places &&
                    (!n.has(weights_at) || n.in(weights_at).dims() == Ints{log_prob.dim(1)});
  if (!n.want(fits, "[n, c, ..], targets [n, ..] and a weight for each of c"))
    return {&n.block(), kNoValue};
  ImportBlock& block = n.block();
  target = cast(target, Type::i64);
  Val weights{&block, kNoValue}, ignored{&block, kNoValue};
  if (n.has_attribute("ignore_index")) {
    ignored = apply(FRL_OP_equal, target, double(n.i("ignore_index", 0)));
    target = select(ignored, block.scalar(Type::i64, 0), target);  // some class that exists
  }
  if (n.has(weights_at)) weights = gather(n.in(weights_at), target, 0);
  Val loss = 0.0 - squeeze(gather_elements(log_prob, unsqueeze(target, {1}), 1), {1});
  if (ignored.ok()) {
    const Val zero = block.scalar(log_prob.element(), 0), one = block.scalar(log_prob.element(), 1);
    weights = select(ignored, zero, weights.ok() ? weights : one);
    loss = select(ignored, zero, loss);
  }
  if (weights.ok()) loss = loss * weights;
  const Ints all = axes_between(0, target.rank());
  if (reduction == 2) return loss;
  if (reduction == 1) return reduce(FRL_OP_add, loss, all, false);
  if (!weights.ok()) return mean(loss, all, false);
  return reduce(FRL_OP_add, loss, all, false) / reduce(FRL_OP_add, weights, all, false);
}

void nll_loss(ModelNode& n) { n.out(0, class_loss(n, n.in(0), n.in(1), 2)); }

void cross_entropy_loss(ModelNode& n) {
  const Val x = n.in(0);
  if (!n.want(x.rank() >= 2, "[n, c, ..]")) return;
  const Val log_prob = softmax(x, 1, FRL_OP_log_softmax);
  n.out(0, class_loss(n, log_prob, n.in(1), 2));
  n.out(1, log_prob);
}

// Inputs of the optimisers: rate, step, then `n_kinds` lists of tensors, each as long as the
// others.
struct Optimiser {
  ModelNode& n;
  int64_t count;
  Val rate, step;

  Optimiser(ModelNode& node, int64_t n_kinds)
      : n(node),
        count((int64_t(node.n_in()) - 2) / n_kinds),
        rate(reshape(n.in(0), {})),
        step(reshape(n.in(1), {})) {
    n.want(int64_t(n.n_in()) >= 2 + n_kinds && (int64_t(n.n_in()) - 2) % n_kinds == 0,
           "a rate, a step, and lists of one length");
  }
  Val of(int64_t kind, int64_t i) { return n.in(size_t(2 + kind * count + i)); }
  void out(int64_t kind, int64_t i, Val value) { n.out(size_t(kind * count + i), value); }
  // The gradient with the norm's penalty.
  Val gradient(int64_t i) { return of(1, i) + of(0, i) * n.f("norm_coefficient", 0); }
  Val is_later() { return apply(FRL_OP_greater, step, 0.0); }
};

void adagrad(ModelNode& n) {
  Optimiser o(n, 3);
  const Val rate = o.rate / (cast(o.step, o.rate.element()) * n.f("decay_factor", 0) + 1.0);
  for (int64_t i = 0; i < o.count && !n.failed(); ++i) {
    const Val g = o.gradient(i), h = o.of(2, i) + g * g;
    o.out(0, i, o.of(0, i) - rate * g / (apply(FRL_OP_sqrt, h) + n.f("epsilon", 1e-6f)));
    o.out(1, i, h);
  }
}

void adam(ModelNode& n) {
  Optimiser o(n, 4);
  const double alpha = n.f("alpha", 0.9f), beta = n.f("beta", 0.999f);
  const Type type = o.rate.element();
  const Val step = cast(o.step, type);
  const auto left = [&](double base) {
    return 1.0 - apply(FRL_OP_pow, n.block().scalar(type, base), step);
  };
  const Val rate =
      select(o.is_later(), o.rate * apply(FRL_OP_sqrt, left(beta)) / left(alpha), o.rate);
  for (int64_t i = 0; i < o.count && !n.failed(); ++i) {
    const Val g = o.gradient(i);
    const Val v = o.of(2, i) * alpha + g * (1 - alpha), h = o.of(3, i) * beta + g * g * (1 - beta);
    const Val x = o.of(0, i) - rate * v / (apply(FRL_OP_sqrt, h) + n.f("epsilon", 1e-6f));
    o.out(0, i, x * (1 - n.f("norm_coefficient_post", 0)));
    o.out(1, i, v);
    o.out(2, i, h);
  }
}

void momentum(ModelNode& n) {
  static constexpr const char* kModes[] = {"standard", "nesterov"};
  Optimiser o(n, 3);
  const double alpha = n.f("alpha", 0);
  const int64_t nesterov = n.choice("mode", "standard", kModes);
  for (int64_t i = 0; i < o.count && !n.failed(); ++i) {
    const Val g = o.gradient(i), one = n.block().scalar(g.element(), 1);
    const Val beta = select(o.is_later(), n.block().scalar(g.element(), n.f("beta", 0)), one);
    const Val v = o.of(2, i) * alpha + beta * g;
    o.out(0, i, o.of(0, i) - o.rate * (nesterov ? g + v * alpha : v));
    o.out(1, i, v);
  }
}

constexpr const char* kTraining = "ai.onnx.preview.training";

constexpr ImportRow kRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, kEver, nll_loss, "2..3>1", "ignore_index reduction"},
    {"", "SoftmaxCrossEntropyLoss", 12, kEver, cross_entropy_loss, "2..3>2",
     "ignore_index reduction"},
    {kTraining, "Adagrad", 1, kEver, adagrad, "3..>..", "decay_factor epsilon norm_coefficient"},
    {kTraining, "Adam", 1, kEver, adam, "3..>..",
     "alpha beta epsilon norm_coefficient norm_coefficient_post"},
    {kTraining, "Momentum", 1, kEver, momentum, "3..>..", "alpha beta mode norm_coefficient"},
};

}  // namespace

std::span<const ImportRow> loss_rows() { return kRows; }

}  // namespace ferrule
