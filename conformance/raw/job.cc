#include "conformance/raw/job.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance::raw {
namespace {

template <class T>
T row(const frl_rows& rows, uint32_t i) {
  T out;
  frl_row(&out, sizeof out, rows.p, rows.stride, i);
  return out;
}

}  // namespace

Result<std::unique_ptr<Job>> Job::make(Session& session, Queue& queue, const Graph& graph,
                                       const JobOptions& options) {
  std::unique_ptr<Job> out(new Job(session, queue, graph));
  FRL_TRY(out->compile(options));
  FRL_TRY(out->make_memory());
  FRL_TRY(out->place_parameters());
  FRL_TRY(out->record(options));
  return out;
}

Status Job::compile(const JobOptions& options) {
  if (options.kernel) return kernels_.push_back(options.kernel), Status();
  for (size_t n = 0; n < graph_.n_nodes(); ++n) {
    FRL_LET(const Block block, block_of(graph_, NodeId(n), session_.row()));
    FRL_LET(auto kernel, session_.compile(block, options.compile));
    kernels_.push_back(kernel.get());
    own_kernels_.push_back(std::move(kernel));
  }
  return {};
}

Status Job::make_memory() {
  for (size_t v = 0; v < graph_.n_values(); ++v) {
    FRL_LET(auto buffer, session_.make_buffer(uint64_t(graph_.type(ValueId(v)).size_bytes())));
    buffers_[ValueId(v)] = std::move(buffer);
  }
  return {};
}

Status Job::place_parameters() {
  Request request;
  for (size_t v = 0; v < graph_.n_values(); ++v)
    if (const Tensor* known = graph_.known(ValueId(v)); known && known->n_elements())
      request.copies.push_back(copy_of(whole(buffers_[ValueId(v)]), address(known->bytes().data()),
                                       known->bytes().size()));
  return request.copies.empty() ? Status() : queue_.finish(request);
}

uint32_t Job::fixed(const Held<frl_buffer>& buffer) {
  segment_.fixed.push_back(whole(buffer));
  return segment_.n_late + uint32_t(segment_.fixed.size() - 1);
}

uint32_t Job::binding_of(ValueId value) {
  const auto late = std::find(late_.begin(), late_.end(), value);
  return late != late_.end() ? uint32_t(late - late_.begin()) : fixed(buffers_[value]);
}

// Packs lie ready before the first run: a segment of their own.
Status Job::pack(size_t node, SegmentRows& rows) {
  const frl_kernel& kernel = *kernels_[node];
  for (uint32_t i = 0; i < kernel.packs.n; ++i) {
    const auto pack = row<frl_pack>(kernel.packs, i);
    const Node& of = graph_.node(NodeId(node));
    if (pack.input >= of.operands.size() || pack.space >= session_.row().spaces.size())
      return Status(Code::internal, cat("packs: want an input and a space that exist, got ",
                                        pack.input, " and ", pack.space));
    FRL_LET(auto target, session_.make_buffer(pack.bytes, pack.space));
    const auto n = uint32_t(rows.args.size());
    rows.steps.push_back({&kernel, n, 2, 0, 0, pack.input + 1, 0});
    rows.args.push_back({n, 0, 0}), rows.args.push_back({n + 1, 0, 0});
    rows.fixed.push_back(whole(buffers_[of.operands[pack.input]])),
        rows.fixed.push_back(whole(target));
    packed_[{node, pack.input}] = target.get();
    extra_.push_back(std::move(target));
  }
  return {};
}

Status Job::record(const JobOptions& options) {
  SegmentRows packs;
  for (size_t n = 0; n < kernels_.size(); ++n) FRL_TRY(pack(n, packs));
  if (!packs.steps.empty()) {
    FRL_LET(const auto recording, queue_.record(packs));
    FRL_TRY(queue_.finish({.recording = recording.get()}));
  }
  if (options.late) {
    late_.assign(graph_.inputs().begin(), graph_.inputs().end());
    for (const Output& output : graph_.outputs())
      if (std::find(late_.begin(), late_.end(), output.value) == late_.end())
        late_.push_back(output.value);
  }
  more_late_ = options.more_late;
  segment_.n_late = uint32_t(late_.size()) + more_late_;
  for (size_t n = 0; n < kernels_.size(); ++n) FRL_TRY(add_step(n, options.repeats));
  n_steps_ = segment_.steps.size();
  FRL_LET(recording_, queue_.record(segment_));
  return {};
}

Status Job::add_step(size_t n, uint32_t repeats) {
  const Node& node = graph_.node(NodeId(n));
  std::vector<frl_arg> args;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNoValue) continue;
    const auto packed = packed_.find({n, uint32_t(i)});
    if (packed != packed_.end()) segment_.fixed.push_back({packed->second, 0});
    args.push_back({packed != packed_.end() ? segment_.n_late + uint32_t(segment_.fixed.size() - 1)
                                            : binding_of(node.operands[i]),
                    0, 0});
  }
  for (ValueId result : node.results) args.push_back({binding_of(result), 0, 0});
  if (kernels_[n]->scratch_bytes) {
    FRL_LET(auto scratch, session_.make_buffer(kernels_[n]->scratch_bytes));
    args.push_back({fixed(scratch), 0, 0});
    extra_.push_back(std::move(scratch));
  }
  for (uint32_t r = 0; r < repeats; ++r) {
    const auto first = uint32_t(segment_.args.size());
    segment_.args.insert(segment_.args.end(), args.begin(), args.end());
    segment_.steps.push_back({kernels_[n], first, uint32_t(args.size()), 0, 0, 0, 0});
  }
  return {};
}

Request Job::request() const {
  Request out;
  out.recording = recording_.get();
  for (ValueId value : late_) out.late.push_back(whole(buffers_.at(value)));
  for (uint32_t i = 0; i < more_late_; ++i) out.late.push_back(out.late[i % late_.size()]);
  return out;
}

std::vector<frl_copy> Job::uploads(std::span<const Tensor> inputs) {
  std::vector<frl_copy> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].n_elements())
      out.push_back(copy_of(whole(buffers_[graph_.inputs()[i]]), address(inputs[i].bytes().data()),
                            inputs[i].bytes().size()));
  return out;
}

Status Job::upload(std::span<const Tensor> inputs) {
  const Request request{.copies = uploads(inputs)};
  return request.copies.empty() ? Status() : queue_.finish(request);
}

Status Job::wipe() {
  Request request;
  std::vector<Tensor> zeros;
  for (const Output& output : graph_.outputs()) {
    zeros.emplace_back(graph_.type(output.value));
    request.copies.push_back(copy_of(whole(buffers_[output.value]),
                                     address(zeros.back().bytes().data()),
                                     zeros.back().bytes().size()));
  }
  return queue_.finish(request);
}

std::vector<Tensor> Job::seen() {
  std::vector<Tensor> out;
  for (const Output& output : graph_.outputs()) {
    out.emplace_back(graph_.type(output.value));
    std::memcpy(out.back().mutable_data(), buffers_[output.value]->host, out.back().bytes().size());
  }
  return out;
}

Result<std::vector<Tensor>> Job::download() {
  std::vector<Tensor> out;
  Request request;
  for (const Output& output : graph_.outputs()) {
    Tensor tensor(graph_.type(output.value));
    // What is not written shows: no result of small integers has these bits.
    std::memset(tensor.mutable_data(), 0xB7, tensor.bytes().size());
    if (tensor.n_elements())
      request.copies.push_back(copy_of(address(tensor.mutable_data()),
                                       whole(buffers_[output.value]), tensor.bytes().size()));
    out.push_back(std::move(tensor));
  }
  if (!request.copies.empty()) FRL_TRY(queue_.finish(request));
  return out;
}

Result<std::vector<Tensor>> Job::run(std::span<const Tensor> inputs) {
  FRL_TRY(upload(inputs));
  FRL_TRY(queue_.finish(request()));
  return download();
}

Status runs_right(Session& session, const Specimen& specimen) {
  FRL_LET(auto queue, session.open_queue());
  FRL_LET(auto job, Job::make(session, *queue, specimen.graph));
  FRL_LET(const auto got, job->run(specimen.inputs));
  if (const std::string wrong = differs(specimen, got); !wrong.empty())
    return Status(Code::internal, wrong);
  if (const std::string misuse = session.misuse(); !misuse.empty())
    return Status(Code::internal, misuse);
  return {};
}

Status runs_right(Session& session) {
  FRL_LET(const Specimen first, specimen(session));
  return runs_right(session, first);
}

}  // namespace ferrule::conformance::raw
