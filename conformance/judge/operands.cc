// What an element was made from, found by asking: parts of an operand are spoilt, and where the
// reference then says something else of the element, it depends on them. So no op needs a rule.
#include <chrono>
#include <cmath>

#include "conformance/judge/judge.h"
#include "core/base/text.h"
#include "core/op/walk.h"

namespace ferrule::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{2};  // for one failure
constexpr int64_t kShown = 4;                 // values of one operand

// Indices along an axis.
struct Span {
  int64_t first, end;
  int64_t size() const { return end - first; }
};

// Some of a tensor's elements: a span of each axis.
struct Part {
  explicit Part(const Shape& shape) : of(shape) {
    for (size_t axis = 0; axis < shape.rank(); ++axis) spans.push_back({0, shape[axis]});
  }
  // fn(number of the element), in order.
  template <class Fn>
  void each(Fn&& fn) const {
    Shape shape;
    const Strides strides = row_major(of);
    int64_t start = 0;
    for (size_t axis = 0; axis < spans.size(); ++axis) {
      shape.push_back(spans[axis].size());
      start += spans[axis].first * strides[axis];
    }
    for (Odometer at(shape); at.more(); at.next()) fn(start + at.offset(strides));
  }

  Shape of;
  std::vector<Span> spans;
};

// The least n of 1 .. most for which `is` holds; it holds for `most`.
template <class Is>
int64_t least(int64_t most, Is&& is) {
  int64_t low = 1;
  while (low < most) {
    const int64_t middle = low + (most - low) / 2;
    if (is(middle))
      most = middle;
    else
      low = middle + 1;
  }
  return most;
}

// One element of one output, as the reference says it of some inputs.
class Question {
 public:
  Question(const Graph& graph, std::span<const Tensor> inputs, size_t output, int64_t element)
      : graph_(graph), inputs_(inputs.begin(), inputs.end()), output_(output), element_(element) {
    answer_ = ask();
  }

  std::vector<std::optional<Part>> parts() {
    std::vector<std::optional<Part>> out;
    for (const ValueId leaf : leaves()) out.push_back(part_of(leaf));
    return out;
  }

  // Inputs and parameters, and their values.
  std::vector<ValueId> leaves() const {
    std::vector<ValueId> out(graph_.inputs().begin(), graph_.inputs().end());
    for (size_t v = 0; v < graph_.n_values(); ++v)
      if (graph_.value(ValueId(v)).role == Role::parameter) out.push_back(ValueId(v));
    return out;
  }
  Tensor& tensor(ValueId leaf) {
    const auto inputs = graph_.inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), leaf);
    return at == inputs.end() ? graph_.value(leaf).known : inputs_[size_t(at - inputs.begin())];
  }

 private:
  // The smallest part that has all that the answer depends on; none where that is nothing.
  std::optional<Part> part_of(ValueId leaf) {
    const Part all(tensor(leaf).shape());
    if (tensor(leaf).empty() || !depends(leaf, all)) return {};
    Part out = all;
    for (size_t axis = 0; axis < out.spans.size(); ++axis) {
      const int64_t extent = all.spans[axis].end;
      const auto within = [&](Span span) {
        Part some = all;
        some.spans[axis] = span;
        return depends(leaf, some);
      };
      out.spans[axis] = {least(extent,
                               [&](int64_t n) {
                                 return within({0, n});
                               }) -
                             1,
                         extent + 1 - least(extent, [&](int64_t n) {
                           return within({extent - n, extent});
                         })};
    }
    return out;
  }

  struct Answer {
    std::string bytes;  // none of what cannot be evaluated
    bool is_nan = false;
  };
  Answer ask() const {
    const auto results = evaluate(graph_, inputs_);
    if (!results.ok() || element_ >= (*results)[output_].n_elements()) return {};
    const Tensor& y = (*results)[output_];
    const auto width = size_t(size_bytes(y.element()));
    return {{reinterpret_cast<const char*>(y.bytes().data()) + size_t(element_) * width, width},
            is_float(y.element()) && std::isnan(y.at_f64(element_))};
  }

  bool depends(ValueId leaf, const Part& part) {
    if (Clock::now() > deadline_) return true;
    Tensor& place = tensor(leaf);
    const Tensor kept = place;
    Tensor spoilt(kept.type());
    std::copy(kept.bytes().begin(), kept.bytes().end(), spoilt.mutable_data());
    part.each([&](int64_t i) {
      if (is_float(kept.element()))
        spoilt.set_f64(i, answer_.is_nan ? 1 : NAN);
      else
        spoilt.mutable_data()[i * size_bytes(kept.element())] ^= std::byte{1};
    });
    place = spoilt;
    const bool changes = ask().bytes != answer_.bytes;
    place = kept;
    return changes;
  }

  Graph graph_;
  std::vector<Tensor> inputs_;
  size_t output_;
  int64_t element_;
  Answer answer_;
  Clock::time_point deadline_ = Clock::now() + kPatience;
};

// The inputs with 1 for each NaN and infinity.
std::vector<Tensor> numbers_of(std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  for (const Tensor& x : inputs) {
    Tensor& y = out.emplace_back(x.type());
    std::copy(x.bytes().begin(), x.bytes().end(), y.mutable_data());
    for (int64_t i = 0; is_float(x.element()) && i < x.n_elements(); ++i)
      if (!std::isfinite(x.at_f64(i))) y.set_f64(i, 1);
  }
  return out;
}

// "[3,:]"
std::string place_text(const Part& part) {
  std::vector<std::string> out;
  for (size_t axis = 0; axis < part.spans.size(); ++axis) {
    const Span& span = part.spans[axis];
    out.push_back(span.size() == 1               ? cat(span.first)
                  : span.size() == part.of[axis] ? ":"
                                                 : cat(span.first, ":", span.end));
  }
  return cat("[", join(out, ","), "]");
}

// "0.5, -1, 2, 7, .. (37 values)"
std::string values_text(const Tensor& x, const Part& part) {
  int64_t n = 0;
  std::vector<std::string> out;
  part.each([&](int64_t i) {
    if (n++ < kShown) out.push_back(element_text(x, i));
  });
  return cat(join(out), n > kShown ? cat(", .. (", n, " values)") : "");
}

}  // namespace

std::string operands_text(const Graph& graph, std::span<const Tensor> inputs, size_t output,
                          int64_t i) {
  Question asked(graph, inputs, output, i);
  std::vector<std::optional<Part>> parts = asked.parts();
  // Of several NaNs each alone makes the answer one: ask with numbers in their places.
  if (std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); }))
    parts = Question(graph, numbers_of(inputs), output, i).parts();
  std::vector<std::string> out;
  for (size_t k = 0; k < parts.size(); ++k) {
    const ValueId leaf = asked.leaves()[k];
    const Tensor& x = asked.tensor(leaf);
    if (x.empty() || x.n_elements() == 0) continue;
    const std::string& name = graph.value(leaf).name;
    out.push_back(parts[k] ? cat(name, place_text(*parts[k]), " = ", values_text(x, *parts[k]))
                           : cat(name, " ", to_string(x.type())));
  }
  return join(out, "; ");
}

}  // namespace ferrule::conformance
