#include "conformance/rig/run.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/rig/memory.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr uint64_t kWaitNs = 120'000'000'000;

Lay lay_of(const std::vector<Lay>& lays, size_t i) { return i < lays.size() ? lays[i] : Lay{}; }

Strides strides_of(const Lay& lay, const Shape& shape) {
  if (lay.strides.empty()) return row_major(shape);
  Strides out{};
  for (size_t i = 0; i < lay.strides.size() && i < kMaxRank; ++i) out[i] = lay.strides[i];
  return out;
}

Placed placed_of(const Lay& lay, Type type, bool parameter, uint32_t align_bytes) {
  Placed out;
  out.parameter = parameter || lay.parameter;
  const uint64_t off = uint64_t(lay.offset_elements * size_bytes(type));
  out.align_bytes = off ? uint32_t(std::min<uint64_t>(off & (0 - off), align_bytes)) : align_bytes;
  out.strides = lay.strides;
  return out;
}

template <class T>
frl_rows rows(const std::vector<T>& v) {
  return {v.data(), uint32_t(v.size()), sizeof(T)};
}

// The dims of a type once the symbols are known.
Shape actual_shape(const Graph& graph, const Shape& shape, std::span<const int64_t> given,
                   std::span<const int64_t> written) {
  Shape out = shape;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    const uint32_t symbol = shape.dim(axis).symbol;
    if (!symbol) continue;
    size_t n_given = 0, n_written = 0;
    for (uint32_t s = 0; s + 1 < symbol; ++s) ++(graph.symbols()[s].written ? n_written : n_given);
    const bool is_written = graph.symbols()[symbol - 1].written;
    const auto list = is_written ? written : given;
    const size_t at = is_written ? n_written : n_given;
    out.set(axis, {at < list.size() ? list[at] : shape[axis], 0});
  }
  return out;
}

// One run of one kernel: its memory, its segment, what came out.
class RigRun {
 public:
  RigRun(Device& device, Queue& queue, const Graph& graph, const RunOptions& options)
      : device_(device),
        queue_(queue),
        graph_(graph),
        node_(graph.node(NodeId(0))),
        options_(options) {}

  Status run(std::span<const Tensor> inputs, RunResult* out) {
    FRL_TRY(compile(out));
    FRL_TRY(make_operands(inputs));
    FRL_TRY(make_results());
    FRL_TRY(make_rest());
    FRL_TRY(record());
    for (int round = 0; round < 2; ++round) {
      FRL_TRY(submit(round, out));
      FRL_TRY(read(round, out));
      // Elements that look untouched may hold just that value: the other pattern decides.
      if (unwritten_.empty() || !out->damage.empty()) return {};
    }
    const auto [result, element] = *unwritten_.begin();
    out->damage = cat("result ", result, ": element ", element, " was not written");
    return {};
  }

 private:
  using Element = std::pair<size_t, int64_t>;  // result, number

  Status compile(RunResult* out) {
    const Placing plan = placing_of(graph_, options_, device_.row().spaces[0].align_bytes);
    FRL_LET(const Block block,
            encode_region(graph_, node_, plan.operands, plan.results, options_.compute));
    FRL_LET(kernel_, device_.compile(block));
    out->scratch_bytes = kernel_->scratch_bytes();
    out->aliases.assign(kernel_->aliases().begin(), kernel_->aliases().end());
    return {};
  }

  // A space for caller's memory; -1 if none takes it.
  int32_t import_space() const {
    if (!options_.imported) return -1;
    for (size_t i = 0; i < device_.row().spaces.size(); ++i)
      if (device_.row().spaces[i].flags & (FRL_SPACE_UNIFIED | FRL_SPACE_HOST_VISIBLE))
        return int32_t(i);
    return -1;
  }

  Tensor value_of(ValueId id, std::span<const Tensor> inputs) const {
    if (const Tensor* known = graph_.known(id)) return *known;
    for (size_t i = 0; i < inputs.size() && i < graph_.inputs().size(); ++i)
      if (graph_.inputs()[i] == id) return inputs[i];
    return {};
  }

  Status make_operands(std::span<const Tensor> inputs) {
    const int32_t imported = import_space();
    for (size_t i = 0; i < node_.operands.size(); ++i) {
      const ValueId id = node_.operands[i];
      operand_at_.push_back(-1);
      if (id == kNoValue) continue;
      const Tensor tensor = value_of(id, inputs);
      if (tensor.empty() || tensor.element() != graph_.type(id).type ||
          tensor.shape().rank() != graph_.shape(id).rank())
        return Status(Code::internal,
                      cat("rig: want operand ", i, " as ", to_string(graph_.type(id)), ", got ",
                          to_string(tensor.type())));
      const Lay lay = lay_of(options_.operands, i);
      FRL_LET(Guarded memory, Guarded::tensor(device_, imported < 0 ? 0 : uint32_t(imported),
                                              graph_.type(id), strides_of(lay, graph_.shape(id)),
                                              lay.offset_elements, imported >= 0));
      memory.put(tensor);
      operand_at_.back() = int32_t(tensors_.size());
      tensors_.push_back(std::move(memory));
    }
    n_inputs_ = tensors_.size();
    return {};
  }

  Status make_results() {
    for (size_t r = 0; r < node_.results.size(); ++r) {
      const Lay lay = lay_of(options_.results, r);
      const TensorType& type = graph_.type(node_.results[r]);
      result_at_.push_back(int32_t(tensors_.size()));
      if (lay.on_input >= 0) {
        result_at_.back() = operand_at_[size_t(lay.on_input)];
        continue;
      }
      FRL_LET(Guarded memory, Guarded::tensor(device_, 0, type, strides_of(lay, type.shape),
                                              lay.offset_elements, false));
      tensors_.push_back(std::move(memory));
    }
    return {};
  }

  Status make_rest() {
    for (const Symbol& s : graph_.symbols()) ++(s.written ? n_written_ : n_given_);
    if (n_written_) {
      uint32_t space = 0;
      while (space < device_.row().spaces.size() &&
             !(device_.row().spaces[space].flags & FRL_SPACE_HOST_VISIBLE))
        ++space;
      if (space == device_.row().spaces.size())
        return Status(Code::unsupported, "written extents: want a host-visible space, got none");
      FRL_LET(Guarded memory, Guarded::plain(device_, space, n_written_ * 8));
      extents_at_ = int32_t(rest_.size());
      rest_.push_back(std::move(memory));
    }
    if (kernel_->scratch_bytes()) {
      FRL_LET(Guarded memory, Guarded::plain(device_, 0, kernel_->scratch_bytes()));
      scratch_at_ = int32_t(rest_.size());
      rest_.push_back(std::move(memory));
    }
    for (const frl_pack& pack : kernel_->packs()) {
      if (pack.input >= operand_at_.size() || operand_at_[pack.input] < 0 ||
          pack.space >= device_.row().spaces.size())
        return Status(Code::internal,
                      cat("pack: want an input of the region and a space, got input ", pack.input,
                          ", space ", pack.space));
      FRL_LET(Guarded memory, Guarded::plain(device_, pack.space, pack.bytes));
      pack_at_.push_back(int32_t(rest_.size()));
      rest_.push_back(std::move(memory));
    }
    return {};
  }

  // Bindings: the tensors (late or fixed), then the rest.
  frl_arg arg_of_tensor(int32_t i) const { return {uint32_t(i), 0, tensors_[size_t(i)].first()}; }
  frl_arg arg_of_rest(int32_t i) const {
    return {uint32_t(tensors_.size() + size_t(i)), 0, rest_[size_t(i)].first()};
  }

  Status record() {
    std::vector<frl_step> steps;
    std::vector<frl_arg> args;
    std::vector<uint32_t> extents;
    for (size_t p = 0; p < pack_at_.size(); ++p) {
      const uint32_t input = kernel_->packs()[p].input;
      steps.push_back({kernel_->handle(), uint32_t(args.size()), 2, 0, 0, input + 1, 0});
      args.push_back(arg_of_tensor(operand_at_[input])), args.push_back(arg_of_rest(pack_at_[p]));
    }
    const auto first = uint32_t(args.size());
    for (size_t i = 0; i < operand_at_.size(); ++i) {
      if (operand_at_[i] < 0) continue;
      frl_arg arg = arg_of_tensor(operand_at_[i]);
      for (size_t p = 0; p < pack_at_.size(); ++p)
        if (kernel_->packs()[p].input == i) arg = arg_of_rest(pack_at_[p]);
      args.push_back(arg);
    }
    for (int32_t at : result_at_) args.push_back(arg_of_tensor(at));
    if (extents_at_ >= 0) args.push_back(arg_of_rest(extents_at_));
    if (scratch_at_ >= 0) args.push_back(arg_of_rest(scratch_at_));
    for (uint32_t i = 0; i < n_given_; ++i) extents.push_back(i);
    steps.push_back({kernel_->handle(), first, uint32_t(args.size()) - first, 0, n_given_, 0, 0});
    n_steps_ = steps.size();

    std::vector<frl_binding> tensors, rest;
    for (const Guarded& g : tensors_) tensors.push_back({g.buffer().handle(), 0});
    for (const Guarded& g : rest_) rest.push_back({g.buffer().handle(), 0});
    if (options_.late)
      late_ = std::move(tensors);
    else
      rest.insert(rest.begin(), tensors.begin(), tensors.end());
    frl_segment segment{};
    segment.head = {sizeof segment, FRL_TAG_SEGMENT};
    segment.steps = rows(steps), segment.args = rows(args), segment.extents = rows(extents),
    segment.fixed = rows(rest);
    segment.n_late = uint32_t(late_.size()), segment.n_submit_extents = n_given_;
    FRL_LET(recording_, queue_.record(segment, nullptr));
    return {};
  }

  Status submit(int round, RunResult* out) {
    for (int32_t at : result_at_)
      if (size_t(at) >= n_inputs_) tensors_[size_t(at)].put_pattern(round);
    for (const Guarded& g : tensors_) FRL_TRY(g.upload(queue_));
    for (const Guarded& g : rest_) FRL_TRY(g.upload(queue_));
    std::vector<uint64_t> ns(n_steps_);
    for (int i = 0; i < options_.repeats; ++i) {
      frl_submit request{};
      request.head = {sizeof request, FRL_TAG_SUBMIT};
      request.recording = recording_->handle();
      request.late = rows(late_);
      request.extents = options_.extents.data();
      if (options_.time) request.step_ns = ns.data();
      FRL_TRY(queue_.submit(request).status);
      FRL_TRY(queue_.wait(request.signal, kWaitNs).status);
    }
    out->step_ns = ns.back();
    return {};
  }

  Status read_written(RunResult* out) {
    if (extents_at_ < 0) return {};
    const Guarded& memory = rest_[size_t(extents_at_)];
    FRL_LET(const auto bytes, memory.download(queue_));
    written_.resize(n_written_);
    std::memcpy(written_.data(), bytes.data() + memory.first(), n_written_ * 8);
    size_t i = 0;
    for (const Symbol& s : graph_.symbols()) {
      if (!s.written) continue;
      const int64_t extent = written_[i];
      if (extent < 0 || extent > s.max) {
        out->damage = cat("written extent ", i, ": want 0 to ", s.max, ", got ", extent);
        written_[i] = 0;
      }
      ++i;
    }
    return {};
  }

  bool is_result(size_t tensor) const {
    return std::find(result_at_.begin(), result_at_.end(), int32_t(tensor)) != result_at_.end();
  }

  Status read(int round, RunResult* out) {
    std::set<Element> now_unwritten;
    out->results.clear(), out->damage.clear();
    FRL_TRY(read_written(out));
    std::vector<std::vector<std::byte>> bytes;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      FRL_LET(auto now, tensors_[i].download(queue_));
      const bool result = is_result(i);
      if (out->damage.empty()) out->damage = tensors_[i].damage(now, !result, name_of(i));
      bytes.push_back(std::move(now));
    }
    for (size_t i = 0; i < rest_.size(); ++i) {
      FRL_LET(const auto now, rest_[i].download(queue_));
      if (out->damage.empty())
        out->damage = rest_[i].damage(now, false,
                                      int32_t(i) == scratch_at_   ? "scratch"
                                      : int32_t(i) == extents_at_ ? "written extents"
                                                                  : "pack");
    }
    for (size_t r = 0; r < result_at_.size(); ++r) {
      const auto at = size_t(result_at_[r]);
      const Shape shape =
          actual_shape(graph_, graph_.shape(node_.results[r]), options_.extents, written_);
      out->results.push_back(tensors_[at].take(bytes[at], shape));
      if (at < n_inputs_) continue;
      for (int64_t element : tensors_[at].unwritten(bytes[at], shape, round))
        if (round == 0 || unwritten_.count({r, element})) now_unwritten.insert({r, element});
    }
    unwritten_ = std::move(now_unwritten);
    return {};
  }

  std::string name_of(size_t tensor) const {
    for (size_t i = 0; i < operand_at_.size(); ++i)
      if (operand_at_[i] == int32_t(tensor)) return cat("operand ", i);
    for (size_t r = 0; r < result_at_.size(); ++r)
      if (result_at_[r] == int32_t(tensor)) return cat("result ", r);
    return "tensor";
  }

  Device& device_;
  Queue& queue_;
  const Graph& graph_;
  const Node& node_;
  const RunOptions& options_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Guarded> tensors_, rest_;  // before the recording: it goes first
  std::vector<int32_t> operand_at_, result_at_, pack_at_;
  int32_t extents_at_ = -1, scratch_at_ = -1;
  size_t n_inputs_ = 0, n_steps_ = 0;
  uint32_t n_given_ = 0, n_written_ = 0;
  std::vector<frl_binding> late_;
  std::vector<int64_t> written_;
  std::unique_ptr<Recording> recording_;
  std::set<Element> unwritten_;  // in every round so far
};

}  // namespace

Placing placing_of(const Graph& graph, const RunOptions& options, uint32_t align_bytes) {
  Placing out;
  const Node& node = graph.node(NodeId(0));
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId id = node.operands[i];
    const bool parameter = id != kNoValue && graph.value(id).role == Role::parameter;
    out.operands.push_back(placed_of(lay_of(options.operands, i),
                                     id == kNoValue ? Type::f32 : graph.type(id).type, parameter,
                                     align_bytes));
  }
  for (size_t r = 0; r < node.results.size(); ++r)
    out.results.push_back(placed_of(lay_of(options.results, r), graph.type(node.results[r]).type,
                                    false, align_bytes));
  return out;
}

Status run_region(Device& device, Queue& queue, const Graph& one_node,
                  std::span<const Tensor> inputs, const RunOptions& options, RunResult* result) {
  return RigRun(device, queue, one_node, options).run(inputs, result);
}

}  // namespace ferrule::conformance
