#include "core/session/compile.h"

#include <algorithm>
#include <chrono>

#include "core/base/text.h"
#include "core/session/calibrated.h"
#include "core/session/names.h"

namespace ferrule {
namespace {

using Clock = std::chrono::steady_clock;
int64_t since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

bool is_control(const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && row->form == Form::control;
}

// A body with what is known about its inputs: a parameter stays a parameter inside, so that it can
// be packed. Carried values of loops are known only at the first trip.
Graph with_known_inputs(const Graph& graph, const Node& node, const Graph& body) {
  size_t first = node.op == FRL_OP_if ? 1 : 0, carried = 0;
  if (node.op == FRL_OP_while) carried = size_t(node.attributes.i(FRL_AT_while_carried));
  if (node.op == FRL_OP_scan)
    carried =
        size_t(node.attributes.i(FRL_AT_scan_carried) + node.attributes.i(FRL_AT_scan_sliced));
  Graph out = body;
  size_t input = 0;
  for (size_t i = first; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNoValue) continue;
    const size_t number = input++;
    const Tensor* known = graph.known(node.operands[i]);
    if (!known || number < carried) continue;
    const Value& value = graph.value(node.operands[i]);
    const ValueId leaf = value.role == Role::literal
                             ? out.add_literal(*known)
                             : out.add_parameter(*known, cat("outer:", value.name));
    out.replace(out.inputs()[number], leaf);
  }
  return out;
}

std::string body_scope(const std::string& scope, const std::string& names, size_t body) {
  return cat(scope, names, "/", body, ": ");
}

class Compilation {
 public:
  Compilation(Graph graph, const CompileContext& context, std::string scope)
      : context_(context), scope_(std::move(scope)) {
    parts_.graph = std::move(graph);
  }

  Result<std::shared_ptr<const Executable>> run(std::set<std::string>* read_parameters) {
    const auto start = Clock::now();
    CompileReport& report = parts_.report;
    for (const Target& target : context_.targets) report.targets.push_back(target.id);
    FRL_TRY(canonicalise(parts_.graph, context_.options, report.canonical, read_parameters,
                         context_.targets.empty() ? nullptr : context_.targets[0].row));
    const auto lock = context_.lock ? context_.lock->lock() : nullptr;
    const auto place_start = Clock::now();
    FRL_LET(report.placement,
            place(parts_.graph, context_.targets, context_.options, {lock.get(), scope_}));
    report.place_ns = since(place_start);
    for (size_t t = 0; t < context_.targets.size(); ++t) {
      const Target& target = context_.targets[t];
      FRL_LET(FuseReport fusion, fuse(parts_.graph, *target.row, int32_t(t), context_.options,
                                      target.refuse, target.estimate));
      report.fusion.push_back(std::move(fusion));
    }
    parts_.devices = context_.devices;
    parts_.parameters = context_.parameters;
    const auto kernels_start = Clock::now();
    FRL_TRY(compile_nodes(read_parameters));
    report.kernels_ns = since(kernels_start);
    const auto plan_start = Clock::now();
    FRL_TRY(plan());
    report.plan_ns = since(plan_start);
    report.total_ns = since(start);
    return Executable::create(std::move(parts_));
  }

 private:
  Status compile_nodes(std::set<std::string>* read_parameters) {
    const Graph& graph = parts_.graph;
    mark_views();
    parts_.kernels.resize(graph.n_nodes()), parts_.bodies.resize(graph.n_nodes());
    for (size_t i = 0; i < graph.n_nodes(); ++i) {
      const Node& node = graph.node(NodeId(i));
      Status status =
          is_control(node) ? compile_bodies(node, i, read_parameters) : compile_kernel(node, i);
      if (!status.ok()) return std::move(status).within(graph.source_text(node));
    }
    return {};
  }

  // A view needs no kernel, unless it would have to be an output beside another use of its memory;
  // separate_outputs has seen to that.
  void mark_views() {
    view_.resize(parts_.graph.n_nodes());
    for (size_t i = 0; i < view_.size(); ++i) view_[i] = is_view(parts_.graph.node(NodeId(i)));
  }

  Status compile_bodies(const Node& node, size_t i, std::set<std::string>* read_parameters) {
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      Compilation body(with_known_inputs(parts_.graph, node, *node.bodies[b]), context_,
                       body_scope(scope_, parts_.graph.source_text(node), b));
      FRL_LET(auto executable, body.run(read_parameters));
      parts_.bodies[i].push_back(std::move(executable));
    }
    return {};
  }

  Placed placed(ValueId id, uint32_t align_bytes) const {
    const Value& value = parts_.graph.value(id);
    return {.parameter = parts_.graph.known(id) != nullptr,
            .state = value.role == Role::state,
            .align_bytes = align_bytes};
  }

  Status compile_kernel(const Node& node, size_t i) {
    if (view_[i]) return {};
    const auto& device = context_.devices[size_t(node.device)];
    const uint32_t align = device->row().spaces[0].align_bytes;
    std::vector<Placed> operands, results;
    for (ValueId id : node.operands)
      operands.push_back(id == kNoValue ? Placed{} : placed(id, align));
    for (ValueId id : node.results) results.push_back(placed(id, align));
    uint32_t compute = context_.options.gate.compute;
    if (compute != FRL_COMPUTE_IEEE)
      compute = match_claims(device->row(), parts_.graph, node, compute).compute;
    FRL_LET(const Block block, encode_region(parts_.graph, node, operands, results, compute));
    FRL_LET(parts_.kernels[i], context_.kernels->kernel(device, block));
    return {};
  }

  Status plan() {
    std::vector<PlanDevice> devices;
    for (const auto& device : context_.devices) {
      const frl_space& space = device->row().spaces[0];
      uint64_t most = space.max_alloc_bytes ? space.max_alloc_bytes : UINT64_MAX;
      if (space.max_binding_bytes) most = std::min(most, space.max_binding_bytes);
      devices.push_back(
          {takes_host_addresses(device->row()), device->is_inline(), space.align_bytes, most});
    }
    std::vector<PlanKernel> kernels(parts_.kernels.size());
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Kernel* kernel = parts_.kernels[i].get();
      if (!kernel) continue;
      kernels[i] = {true,
                    kernel->scratch_bytes(),
                    {kernel->packs().begin(), kernel->packs().end()},
                    {kernel->aliases().begin(), kernel->aliases().end()}};
    }
    FRL_LET(parts_.plan, make_plan(parts_.graph, devices, kernels));
    return context_.check_plans ? check_plan(parts_.graph, parts_.plan, kernels) : Status();
  }

  const CompileContext& context_;
  const std::string scope_;  // of node names in a placement lock
  Executable::Parts parts_;
  std::vector<bool> view_;
};

uint32_t compute_of(const std::string& name) {
  if (name == "tf32") return FRL_COMPUTE_TF32;
  return name == "bf16x3" ? FRL_COMPUTE_BF16X3 : FRL_COMPUTE_IEEE;
}

// A lock holds whatever else changed, so what changed is said: devices that are not what they were,
// and lines for nodes that the model has not (another form of it may have them).
std::vector<std::string> doubts(const Executable& executable, const CompileContext& context) {
  const auto lock = context.lock ? context.lock->lock() : nullptr;
  if (!lock || !lock->complete()) return {};
  PlacementLock own;
  add_placements(own, executable, context.targets);
  std::vector<std::string> out;
  for (const std::string& device : lock->changed_devices(own))
    out.push_back(cat(lock->name(), ": want ", device, "; --lock-write places anew"));
  const auto nodes = own.nodes_but({}), strange = lock->nodes_but(nodes);
  if (!strange.empty())
    out.push_back(cat(lock->name(), ": want lines for nodes of this form, got ", strange.size(),
                      " of none: ", strange[0], strange.size() > 1 ? " and others" : "",
                      near_text(strange[0], nodes)));
  return out;
}

}  // namespace

Result<std::shared_ptr<Kernel>> KernelCache::kernel(const std::shared_ptr<Device>& device,
                                                    const Block& region) {
  const uint64_t key = region.key();
  {
    std::lock_guard lock(mutex_);
    for (auto [it, end] = entries_.equal_range(key); it != end; ++it)
      if (it->second.device == device && it->second.region == region) return it->second.kernel;
  }
  FRL_LET(std::shared_ptr<Kernel> kernel, device->compile(region));
  std::lock_guard lock(mutex_);
  entries_.emplace(key, Entry{region, device, kernel});
  return kernel;
}

Result<FuseOptions> fuse_options(const Config& config) {
  FuseOptions options;
  std::vector<std::string> names;
  for (const Pass* pass : all_passes())
    if (!pass->mandatory) names.push_back(pass->name);
  for (const std::string& name : config.list("passes.off")) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unknown_name(config, "passes.off",
                          cat("passes that may be left out (", join(names), ")"), name, names);
    options.passes_off.insert(name);
  }
  options.fusion = config.boolean("fusion.enabled");
  FRL_LET(options.gate.mode, parse_gate_mode(config.text("gate.mode")));
  options.gate.expected_runs = config.integer("gate.expected_runs");
  options.gate.compute = compute_of(config.text("numerics.matmul"));
  const auto limit = [&](const char* key) {
    const int64_t value = config.integer(key);
    return value ? std::optional(uint32_t(std::min<int64_t>(value, UINT32_MAX))) : std::nullopt;
  };
  options.limits = {limit("limits.nodes"), limit("limits.inputs"), limit("limits.outputs")};
  return options;
}

Result<CompileContext> make_compile_context(const Runtime& runtime) {
  CompileContext context;
  FRL_LET(context.options, fuse_options(runtime.config()));
  FRL_LET(const auto allowed, runtime.allowed());
  for (const Runtime::Allowed& a : allowed) {
    FRL_LET(auto device, a.device->driver->open(a.device->number));
    const auto refuse = [entry = a.device](const Block& region) {
      return entry->driver->refuse(entry->number, region);
    };
    Target target{a.device->id, &a.device->row(), a.also, refuse};
    if (context.options.gate.mode == GateMode::calibrated) {
      FRL_LET(Calibrated measured, calibrated_row(runtime.config(), *a.device));
      context.calibrated.push_back(measured.row);
      target.row = measured.row.get(), target.rates = cat("calibrated of ", measured.date);
    } else if (a.device->driver->has_estimate()) {
      target.estimate = remembered_estimate(*a.device);
    }
    context.targets.push_back(std::move(target));
    context.entries.push_back(a.device);
    context.devices.push_back(std::move(device));
  }
  const std::string& path = runtime.config().text("placement.lock");
  const bool renew = runtime.config().boolean("placement.lock_write");
  if (renew && path.empty())
    return Status(Code::invalid_argument,
                  "placement.lock_write: want a file in placement.lock, got none");
  if (!path.empty()) {
    FRL_LET(context.lock, LockFile::open(path, renew));
  }
  context.check_plans = runtime.check_plans();
  context.warn = [&runtime](const std::string& text) { runtime.log(1, "session", text); };
#ifndef NDEBUG
  context.check_plans = true;
#endif
  return context;
}

Result<std::shared_ptr<const Executable>> compile_graph(Graph graph, const CompileContext& context,
                                                        std::set<std::string>* read_parameters) {
  FRL_LET(auto executable, Compilation(std::move(graph), context, "").run(read_parameters));
  if (context.lock)
    FRL_TRY(context.lock->keep(
        [&](PlacementLock& lock) { return add_placements(lock, *executable, context.targets); }));
  if (context.warn)
    for (const std::string& text : doubts(*executable, context)) context.warn(text);
  return executable;
}

bool add_placements(PlacementLock& lock, const Executable& executable,
                    std::span<const Target> targets, const std::string& scope) {
  bool news = lock.add(executable.report().placement, targets, scope);
  const Graph& graph = executable.graph();
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const auto& bodies = executable.bodies(NodeId(i));
    const std::string names = graph.source_text(graph.node(NodeId(i)));
    for (size_t b = 0; b < bodies.size(); ++b)
      news |= add_placements(lock, *bodies[b], targets, body_scope(scope, names, b));
  }
  return news;
}

}  // namespace ferrule
