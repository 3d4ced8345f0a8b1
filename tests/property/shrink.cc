#include "tests/property/shrink.h"

#include "core/base/text.h"

namespace ferrule::property {
namespace {

class Shrinker {
 public:
  Shrinker(Sample sample, const Fails& fails, size_t tries)
      : sample_(std::move(sample)), fails_(fails), tries_(tries) {}

  Sample run() {
    for (bool better = true; better && tries_ > 0;) {
      better = drop_outputs();
      better |= move_outputs();
      better |= cut_values();
      better |= bypass_nodes();
      better |= shrink_extents();
      better |= plain_numbers();
    }
    return std::move(sample_);
  }

 private:
  // Takes the changed sample if it is smaller by `size` and still fails.
  bool take(const Change& change) {
    if (tries_ == 0) return false;
    auto changed = rebuild(sample_, change);
    if (!changed.ok() || size(*changed) >= size(sample_)) return false;
    --tries_;
    if (fails_(*changed).empty()) return false;
    sample_ = std::move(*changed);
    return true;
  }
  // Nodes first, then what else a reader has to look at.
  static size_t size(const Sample& sample) {
    const Graph& graph = sample.graph;
    size_t elements = 0;
    for (const Value& value : graph.values())
      if (value.type.shape.is_exact()) elements += size_t(value.type.shape.n_elements());
    return 1'000'000 * nodes(graph) + 20'000 * (graph.outputs().size() + graph.n_values()) +
           std::min<size_t>(elements, 19'999);
  }
  static size_t nodes(const Graph& graph) {
    size_t n = graph.n_nodes();
    for (const Node& node : graph.nodes())
      for (const Body& body : node.bodies) n += nodes(*body);
    return n;
  }

  bool drop_outputs() {
    bool better = false;
    for (size_t i = 0; i < sample_.graph.outputs().size();) {
      Change change;
      for (size_t k = 0; k < sample_.graph.outputs().size(); ++k)
        if (k != i) change.dropped.insert(k);
      if (sample_.graph.outputs().size() > 2 && take(change)) return true;  // this one alone
      change.dropped = {i};
      const bool dropped = sample_.graph.outputs().size() > 1 && take(change);
      better |= dropped;
      if (!dropped) ++i;
    }
    return better;
  }

  // An operand of what makes the output, instead of the output.
  bool move_outputs() {
    bool better = false;
    for (size_t i = 0; i < sample_.graph.outputs().size(); ++i) {
      const Node* maker = sample_.graph.maker(sample_.graph.outputs()[i].value);
      const std::vector<ValueId> operands = maker ? maker->operands : std::vector<ValueId>();
      for (ValueId id : operands) {
        if (id == kNoValue || !sample_.graph.maker(id)) continue;
        Change change;
        change.moved[i] = id;
        if (!take(change)) continue;
        better = true;
        break;
      }
    }
    return better;
  }

  bool cut_values() {
    const auto values = inner_values(sample_);
    if (!values.ok()) return false;
    for (auto it = values->rbegin(); it != values->rend(); ++it) {
      if (it->second.type() != sample_.graph.type(it->first)) continue;
      Change change;
      change.cut.insert(*it);
      if (take(change)) return true;  // ids are others now
    }
    return false;
  }

  bool bypass_nodes() {
    for (size_t n = sample_.graph.n_nodes(); n-- > 0;) {
      const Node node = sample_.graph.node(NodeId(n));
      for (ValueId result : node.results)
        for (ValueId operand : node.operands) {
          if (operand == kNoValue || sample_.graph.type(operand) != sample_.graph.type(result))
            continue;
          Change change;
          change.bypassed[result] = operand;
          if (take(change)) return true;
        }
    }
    return false;
  }

  bool shrink_extents() {
    std::set<int64_t> extents;
    for (const Value& value : sample_.graph.values())
      for (const Dim& dim : value.type.shape.dims())
        if (dim.extent > 1) extents.insert(dim.extent);
    bool better = false;
    for (auto it = extents.rbegin(); it != extents.rend(); ++it)
      for (int64_t now : {int64_t{1}, int64_t{2}, int64_t{3}, *it / 2, *it - 1})
        for (const bool multiples : {true, false}) {
          if (now >= *it || now < 1) continue;
          Change change;
          change.extent = *it, change.extent_now = now, change.multiples = multiples;
          better |= take(change);
        }
    return better;
  }

  // All of an input's elements one number, or small ones.
  bool plain_numbers() {
    for (size_t i = 0; i < sample_.inputs.size(); ++i) {
      if (plain_.count(sample_.graph.value(sample_.graph.inputs()[i]).name)) continue;
      for (int64_t step : {0, 1}) {
        Sample plain = sample_;
        plain.inputs[i] = Tensor(sample_.inputs[i].type());
        for (int64_t k = 0; k < plain.inputs[i].n_elements(); ++k)
          plain.inputs[i].set_f64(k, double(1 + step * (k % 7)));
        if (tries_ == 0) return false;
        --tries_;
        if (fails_(plain).empty()) continue;
        sample_ = std::move(plain);
        break;
      }
      plain_.insert(sample_.graph.value(sample_.graph.inputs()[i]).name);
    }
    return false;
  }

  Sample sample_;
  const Fails& fails_;
  size_t tries_;
  std::set<std::string> plain_;  // inputs that were tried
};

}  // namespace

Sample shrink(Sample sample, const Fails& fails, size_t tries) {
  return Shrinker(std::move(sample), fails, tries).run();
}

std::string case_text(const std::string& name, const Sample& sample, const std::string& fault,
                      const std::string& setting) {
  std::string out = cat("case ", name, "\n# ", fault, "\n", setting);
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    out += cat("# ", sample.graph.value(sample.graph.inputs()[i]).name, " =");
    for (int64_t k = 0; k < std::min<int64_t>(sample.inputs[i].n_elements(), 64); ++k)
      out += cat(" ", sample.inputs[i].at_f64(k));
    out += "\n";
  }
  out += "before\n";
  for (const std::string& line : split(to_text(sample.graph), '\n'))
    if (!line.empty()) out += "  " + line + "\n";
  return out;
}

}  // namespace ferrule::property
