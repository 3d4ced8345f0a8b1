// A run context: its memory and recordings, and the loop over the plan's steps.
#include <sys/mman.h>

#include "core/base/text.h"
#include "core/dispatch/context_parts.h"

namespace ferrule {
namespace {

constexpr uint64_t kHugePage = 2u << 20;

}  // namespace

RunContext::HostBlock::HostBlock(uint64_t size) : size_bytes(size) {
  // Large arenas on huge pages: a first touch costs a third.
  const uint64_t align = size >= kHugePage ? kHugePage : 64;
  const uint64_t rounded = align_up(std::max<uint64_t>(size, 1), align);
  memory = static_cast<std::byte*>(std::aligned_alloc(align, rounded));
  if (memory && align == kHugePage) ::madvise(memory, rounded, MADV_HUGEPAGE);
}

RunContext::RunContext(std::shared_ptr<const Executable> executable)
    : executable_(std::move(executable)) {}

RunContext::~RunContext() {
  segments_.clear();  // recordings before their queues, queues before the memory they use
  queues_.clear();
}

Status RunContext::allocate() {
  const Executable& e = *executable_;
  const Plan& plan = e.plan();
  for (uint64_t bytes : plan.arena_bytes[0]) {
    host_blocks_.emplace_back(bytes);
    if (!host_blocks_.back().memory)
      return Status(Code::no_memory, cat("arena: want ", bytes, " bytes of host memory"));
  }
  const size_t n_devices = e.devices().size();
  device_blocks_.resize(n_devices), extents_.resize(n_devices), host_extents_.resize(n_devices),
      queues_.resize(n_devices);
  for (size_t d = 0; d < n_devices; ++d) {
    Device& device = *e.devices()[d];
    for (uint64_t bytes : plan.arena_bytes[d + 1]) {
      FRL_LET(auto block, device.make_buffer(0, bytes));
      device_blocks_[d].push_back(std::move(block));
    }
    host_extents_[d].resize(plan.extents_count[d]);
    if (plan.extents_count[d] == 0 || takes_host_addresses(device.row())) continue;
    for (uint32_t space = 0; space < device.row().spaces.size() && !extents_[d]; ++space)
      if (device.row().spaces[space].flags & FRL_SPACE_HOST_VISIBLE) {
        FRL_LET(extents_[d], device.make_buffer(space, plan.extents_count[d] * 8));
      }
    if (!extents_[d])
      return Status(Code::internal,
                    cat(device.row().name, ": want a host-visible space for written extents"));
  }
  for (ValueId id : plan.states) states_.emplace_back(e.graph().type(id));
  segments_.resize(plan.steps.size()), copies_.resize(plan.steps.size()),
      bodies_.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* control = std::get_if<ControlStep>(&plan.steps[i]);
    if (!control) continue;
    for (const auto& body : e.bodies(control->node)) {
      FRL_LET(auto context, body->make_context());
      bodies_[i].push_back(std::move(context));
    }
  }
  return {};
}

std::byte* RunContext::host_address(const Place& place) const {
  switch (place.kind) {
    case Place::Kind::input:
      return static_cast<std::byte*>(const_cast<void*>(inputs_[place.number])) + place.offset;
    case Place::Kind::output:
      return static_cast<std::byte*>(outputs_[place.number]) + place.offset;
    case Place::Kind::parameter:
      return const_cast<std::byte*>(executable_->graph()
                                        .known(executable_->plan().parameters[place.number])
                                        ->bytes()
                                        .data()) +
             place.offset;
    case Place::Kind::state:
      return const_cast<std::byte*>(states_[place.number].bytes().data()) + place.offset;
    case Place::Kind::arena:
      return host_blocks_[place.block].memory + place.offset;
    case Place::Kind::extents:
      return reinterpret_cast<std::byte*>(
                 const_cast<int64_t*>(host_extents_[place.number].data())) +
             place.offset;
    case Place::Kind::pack:
    case Place::Kind::none:
      break;
  }
  return nullptr;
}

frl_binding RunContext::fixed_binding(const Place& place, uint32_t device) const {
  if (place.kind == Place::Kind::parameter)
    return executable_->resident_[device][place.number].binding;
  if (place.kind == Place::Kind::pack) return executable_->packs_[place.number].binding;
  if (place.kind == Place::Kind::arena && place.number > 0)
    return {device_blocks_[place.number - 1][place.block]->handle(), 0};
  if (place.kind == Place::Kind::extents && extents_[device])
    return {extents_[device]->handle(), 0};
  Place start = place;
  start.offset = 0;
  return {nullptr, reinterpret_cast<uint64_t>(host_address(start))};
}

Status RunContext::record(const SubmitStep& step, Segment& segment) {
  std::vector<frl_step> steps;
  std::vector<frl_arg> args;
  std::vector<frl_binding> fixed;
  std::vector<Place> fixed_places;
  const auto same = [](const Place& a, const Place& b) {
    return a.kind == b.kind && a.number == b.number && a.block == b.block;
  };
  const auto number_of = [&](std::vector<Place>& places, const Place& place) {
    for (size_t i = 0; i < places.size(); ++i)
      if (same(places[i], place)) return uint32_t(i);
    places.push_back(place);
    return uint32_t(places.size() - 1);
  };
  const auto is_late = [](const Place& p) {
    return p.kind == Place::Kind::input || p.kind == Place::Kind::output;
  };
  for (const KernelStep& kernel :
       step.kernels)  // late bindings come first, so they are counted first
    for (const Place& place : kernel.args)
      if (is_late(place)) number_of(segment.late_places, place);
  const auto n_late = uint32_t(segment.late_places.size());
  for (const KernelStep& kernel : step.kernels) {
    steps.push_back({executable_->kernel(kernel.node)->handle(), uint32_t(args.size()),
                     uint32_t(kernel.args.size()), 0, 0, 0, 0});
    for (const Place& place : kernel.args) {
      const uint32_t binding = is_late(place) ? number_of(segment.late_places, place)
                                              : n_late + number_of(fixed_places, place);
      args.push_back({binding, 0, place.offset});
    }
  }
  for (const Place& place : fixed_places) fixed.push_back(fixed_binding(place, step.device));
  frl_segment table{};
  table.head = {sizeof table, FRL_TAG_SEGMENT};
  table.steps = {steps.data(), uint32_t(steps.size()), sizeof(frl_step)};
  table.args = {args.data(), uint32_t(args.size()), sizeof(frl_arg)};
  table.fixed = {fixed.data(), uint32_t(fixed.size()), sizeof(frl_binding)};
  table.n_late = n_late;
  int32_t subject = -1;
  auto recording = queues_[step.device]->record(table, &subject);
  if (!recording.ok()) {
    const bool known = subject >= 0 && size_t(subject) < step.kernels.size();
    return std::move(recording)
        .within(known ? executable_->graph().source_text(
                            executable_->graph().node(step.kernels[size_t(subject)].node))
                      : "segment")
        .status();
  }
  segment.recording = std::move(*recording);
  segment.late.resize(n_late);
  segment.times.resize(steps.size());
  segment.request = {};
  segment.request.head = {sizeof(frl_submit), FRL_TAG_SUBMIT};
  segment.request.recording = segment.recording->handle();
  segment.request.late = {segment.late.data(), n_late, sizeof(frl_binding)};
  return {};
}

Status RunContext::record_all() {
  const Plan& plan = executable_->plan();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    uint32_t device = UINT32_MAX;
    if (const auto* submit = std::get_if<SubmitStep>(&step)) device = submit->device;
    if (const auto* copy = std::get_if<CopyStep>(&step)) device = copy->device;
    if (device == UINT32_MAX) continue;
    if (!queues_[device]) {
      FRL_LET(queues_[device], executable_->devices()[device]->open_queue());
    }
    if (const auto* copy = std::get_if<CopyStep>(&step)) copies_[i].resize(copy->copies.size());
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (!submit) continue;
    segments_[i] = std::make_unique<Segment>();
    FRL_TRY(record(*submit, *segments_[i]));
  }
  return {};
}

// A failed queue stays failed: everything that was recorded for it goes with it.
Status RunContext::recover() {
  for (auto& segment : segments_) segment.reset();
  for (auto& queue : queues_) queue.reset();
  ready_ = failed_ = false;
  return {};
}

Status RunContext::run(std::span<const void* const> inputs, std::span<void* const> outputs,
                       const RunOptions& options) {
  inputs_ = inputs, outputs_ = outputs, options_ = options;
  if (failed_) FRL_TRY(recover());
  if (!ready_) {
    FRL_TRY(record_all());
    ready_ = true;
  }
  const auto& steps = executable_->plan().steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    Status status = std::visit([&](const auto& s) { return step(s, i); }, steps[i]);
    if (status.ok()) continue;
    failed_ = true;
    return status;
  }
  return keep_states();
}

Status RunContext::submit(uint32_t device, frl_submit& request) {
  Queue& queue = *queues_[device];
  request.cancel = options_.cancel;
  PluginError error = queue.submit(request);
  while (error.status.code() == Code::busy) {
    FRL_TRY(queue.wait(queue.last_signal()).status);
    error = queue.submit(request);
  }
  // Inline queues run at once: the failing step is known here.
  subject_ = error.subject;
  return std::move(error.status);
}

Status RunContext::named(Status status, const SubmitStep& step, int32_t subject) const {
  if (status.ok() || subject < 0 || size_t(subject) >= step.kernels.size()) return status;
  const Graph& graph = executable_->graph();
  return std::move(status).within(
      graph.source_text(graph.node(step.kernels[size_t(subject)].node)));
}

Status RunContext::step(const SubmitStep& step, size_t number) {
  Segment& segment = *segments_[number];
  for (size_t i = 0; i < segment.late.size(); ++i) {
    Place start = segment.late_places[i];
    start.offset = 0;
    segment.late[i] = {nullptr, reinterpret_cast<uint64_t>(host_address(start))};
  }
  segment.request.step_ns = options_.time_steps ? segment.times.data() : nullptr;
  Status status = submit(step.device, segment.request);
  if (!status.ok()) return named(std::move(status), step, subject_);
  if (!executable_->devices()[step.device]->is_inline()) last_submit_ = &step;
  return status;
}

frl_binding RunContext::copy_side(const Place& place, uint32_t device) const {
  if (place.kind == Place::Kind::arena && place.number == device + 1)
    return {device_blocks_[device][place.block]->handle(), place.offset};
  return {nullptr, reinterpret_cast<uint64_t>(host_address(place))};
}

Status RunContext::step(const CopyStep& step, size_t number) {
  std::vector<frl_copy>& copies = copies_[number];
  for (size_t i = 0; i < copies.size(); ++i)
    copies[i] = {copy_side(step.copies[i].target, step.device),
                 copy_side(step.copies[i].source, step.device),
                 step.copies[i].size_bytes,
                 1,
                 0,
                 0};
  frl_submit request{};
  request.head = {sizeof request, FRL_TAG_SUBMIT};
  request.copies = {copies.data(), uint32_t(copies.size()), sizeof(frl_copy)};
  return submit(step.device, request);
}

Status RunContext::step(const WaitStep& step, size_t) {
  const Queue& queue = *queues_[step.device];
  PluginError error = queue.wait(queue.last_signal());
  if (error.status.ok() || !last_submit_) return std::move(error.status);
  return named(std::move(error.status), *last_submit_, error.subject);
}

Status RunContext::keep_states() {
  const Executable& e = *executable_;
  for (const StatePair& pair : e.graph().state_pairs())
    for (size_t s = 0; s < states_.size(); ++s) {
      if (e.plan().states[s] != pair.leaf) continue;
      const std::byte* from = host_address(e.plan().outputs[pair.output].place);
      std::memcpy(states_[s].mutable_data(), from, states_[s].bytes().size());
    }
  return {};
}

std::span<std::byte> RunContext::state(size_t number) {
  return {states_[number].mutable_data(), states_[number].bytes().size()};
}

std::vector<StepTime> RunContext::step_times() const {
  std::vector<StepTime> out;
  const auto& steps = executable_->plan().steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* submit = std::get_if<SubmitStep>(&steps[i]);
    if (!submit || !segments_[i]) continue;
    for (size_t k = 0; k < submit->kernels.size(); ++k)
      out.push_back({submit->kernels[k].node, submit->device, segments_[i]->times[k]});
  }
  return out;
}

uint64_t RunContext::arena_bytes() const {
  uint64_t total = executable_->plan().planned_bytes();
  for (const auto& row : bodies_)
    for (const auto& body : row) total += body->arena_bytes();
  return total;
}

Result<Tensor> RunContext::output(size_t number) const {
  const OutputPlan& plan = executable_->plan().outputs[number];
  TensorType exact = plan.type;
  for (size_t axis = 0; axis < exact.shape.rank(); ++axis) {
    const Dim dim = exact.shape.dim(axis);
    if (!dim.symbol) continue;
    const int64_t slot = executable_->plan().symbol_slot[dim.symbol - 1];
    const uint32_t device = executable_->plan().symbol_device[dim.symbol - 1];
    if (slot < 0) return Status(Code::internal, "output: want its extent to be written");
    const int64_t* extents = extents_[device]
                                 ? reinterpret_cast<const int64_t*>(extents_[device]->host())
                                 : host_extents_[device].data();
    if (extents[slot] < 0 || extents[slot] > dim.extent)
      return Status(Code::internal, cat("output: want an extent of 0 to ", dim.extent,
                                        ", the kernel wrote ", extents[slot]));
    exact.shape.set(axis, {extents[slot], 0});
  }
  // Elements lie as if every extent were at its most; here they move together.
  Tensor out(exact);
  const std::byte* from = host_address(plan.place);
  const int64_t n = exact.shape.n_elements(), size = size_bytes(exact.type);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t axis = exact.shape.rank(); axis-- > 0;) {
      at += rest % exact.shape[axis] * stride;
      rest /= exact.shape[axis];
      stride *= plan.type.shape[axis];
    }
    std::memcpy(out.mutable_data() + i * size, from + at * size, size_t(size));
  }
  return out;
}

}  // namespace ferrule
