// The table: devices, what they refuse and estimate, kernels and buffers.
#include <algorithm>
#include <cstring>
#include <memory>

#include "plugin-api/sdk/inline_device.h"
#include "plugins/tpu-sim/device.h"
#include "plugins/tpu-sim/emit.h"

FRL_IDENTITY("org.ferrule.tpu-sim", "0.1.0", FRL_HOST_ISA);

namespace tpu_sim {

void Device::claim_bytes(uint64_t bytes) {
  count([&](frl_telemetry& c) {
    if (bytes > kHbmBytes - c.live_bytes)
      throw frl::Failure(FRL_NO_MEMORY, "buffer: no room for " + std::to_string(bytes) + " bytes",
                         0);
    c.live_bytes += bytes;
    c.peak_bytes = std::max(c.peak_bytes, c.live_bytes);
  });
}

void Device::fill(frl_telemetry* out) const {
  const std::lock_guard lock(mutex_);
  const frl_head head = out->head;
  std::memcpy(static_cast<void*>(out), &counts_, std::min<size_t>(head.size, sizeof *out));
  out->head = head;
}

namespace {

const Row& row_of(const frl_device_row* row) { return *static_cast<const Row*>(row); }

int32_t FRL_CALL devices(const frl_host* host, frl_rows* out, frl_error* error) {
  return frl::guard(error, frl::kSiteDevices, [&] { *out = rows_of(machine_of(host)); });
}

int32_t FRL_CALL refuse(const frl_device_row* row, const frl_region* region, frl_error* error) {
  return frl::guard(error, frl::kSiteRefuse,
                    [&] { lower(row_of(row).machine, frl::Region(region)); });
}

uint64_t FRL_CALL estimate(const frl_device_row* row, const frl_region* region) {
  uint64_t ps = 0;
  frl::guard(nullptr, frl::kSiteEstimate,
             [&] { ps = kDispatchPs + lower(row_of(row).machine, frl::Region(region)).ps; });
  return ps;
}

int32_t FRL_CALL open(const frl_host* host, const frl_device_row* row, frl_device** out,
                      frl_error* error) {
  return frl::guard(error, frl::kSiteOpen, [&] {
    if (row->state != FRL_DEVICE_PRESENT)
      throw frl::Failure(FRL_INVALID, "open: want a device that is present");
    *out = std::make_unique<Device>(host, &row_of(row)).release();
  });
}
void FRL_CALL close(frl_device* device) { delete static_cast<Device*>(device); }

// Results of a lone pointwise region may lie on inputs of their shape: a tile is read before it is
// written.
std::vector<frl_alias> aliases_of(const frl::Region& region) {
  std::vector<frl_alias> out;
  if (region.kind() != FRL_OP_pointwise) return out;
  for (uint32_t o = 0; o < region.n_outputs(); ++o)
    for (uint32_t i = 0; i < region.n_inputs(); ++i) {
      const frl::Value x = region.input(i), y = region.output(o);
      if (x.type == y.type && std::ranges::equal(x.shape(), y.shape()) && x.is_dense())
        out.push_back({i, o});
    }
  return out;
}

struct OwnedKernel final : Kernel {
  std::vector<frl_alias> alias_rows;
};

int32_t FRL_CALL compile(frl_device* d, const frl_region* block, const frl_compile* request_in,
                         frl_kernel** out, frl_error* error) {
  return frl::guard(error, frl::kSiteCompile, [&] {
    const auto request = request_in ? read(*request_in) : frl_compile{};
    if (request.restore_only)
      throw frl::Failure(FRL_FOREIGN, "restore: want bytes of this device, which saves none");
    if (request.cancel && __atomic_load_n(request.cancel, __ATOMIC_RELAXED))
      throw frl::Failure(FRL_CANCELLED, "compile: cancelled by the caller");
    auto& device = *static_cast<Device*>(d);
    const frl::Region region(block);
    auto kernel = std::make_unique<OwnedKernel>();
    kernel->head = {sizeof(frl_kernel), FRL_TAG_KERNEL};
    kernel->program = lower(device.machine(), region);
    kernel->alias_rows = aliases_of(region);
    kernel->aliases = frl::rows(kernel->alias_rows);
    kernel->n_args = static_cast<uint32_t>(region.n_present_inputs() + region.n_outputs());
    device.count([](frl_telemetry& c) { ++c.compiled; });
    *out = kernel.release();
  });
}
void FRL_CALL drop_kernel(frl_kernel* kernel) { delete static_cast<OwnedKernel*>(kernel); }

int32_t FRL_CALL make_buffer(frl_device* d, const frl_space_request* request_in, frl_buffer** out,
                             frl_error* error) {
  return frl::guard(error, frl::kSiteMakeBuffer, [&] {
    auto& device = *static_cast<Device*>(d);
    const auto request = read(*request_in);
    if (request.space >= device.row->spaces.n)
      throw frl::Failure(FRL_INVALID, "buffer: want a space of this device");
    if (request.import_address)
      throw frl::Failure(FRL_INVALID, "buffer: want no import, for the device sees HBM alone");
    if (request.bytes > kLargestBytes)
      throw frl::Failure(FRL_NO_MEMORY,
                         "buffer: want at most " + std::to_string(kLargestBytes) + " bytes, got " +
                             std::to_string(request.bytes),
                         0);
    auto buffer = std::make_unique<Buffer>();
    device.claim_bytes(request.bytes);
    const frl_host* host = device.host();
    buffer->memory =
        static_cast<std::byte*>(host->alloc(host->self, std::max<uint64_t>(request.bytes, 1), 256));
    if (!buffer->memory) {
      device.count([&](frl_telemetry& c) { c.live_bytes -= request.bytes; });
      throw frl::Failure(FRL_NO_MEMORY,
                         "buffer: no room for " + std::to_string(request.bytes) + " bytes", 0);
    }
    buffer->head = {sizeof(frl_buffer), FRL_TAG_BUFFER};
    buffer->bytes = request.bytes, buffer->device = &device;
    *out = buffer.release();
  });
}
void FRL_CALL drop_buffer(frl_buffer* b) {
  auto* buffer = static_cast<Buffer*>(b);
  const frl_host* host = buffer->device->host();
  host->release(host->self, buffer->memory, std::max<uint64_t>(buffer->bytes, 1), 256);
  buffer->device->count([&](frl_telemetry& c) { c.live_bytes -= buffer->bytes; });
  delete buffer;
}

void FRL_CALL telemetry(const frl_device* d, frl_telemetry* out) {
  static_cast<const Device*>(d)->fill(out);
}
int32_t FRL_CALL quiesce(const frl_host*, uint64_t, frl_error*) { return FRL_OK; }

frl_plugin make_table() {
  frl_plugin p{};
  p.head = {sizeof p, FRL_TAG_PLUGIN};
  p.minor = FRL_MINOR, p.flags = FRL_PLUGIN_CAN_UNLOAD;
  p.id = frl::str("org.ferrule.tpu-sim"), p.version = frl::str("0.1.0");
  p.options = frl::rows(options());
  p.devices = devices, p.refuse = refuse, p.estimate = estimate, p.open = open, p.close = close;
  p.compile = compile, p.drop_kernel = drop_kernel;
  p.make_buffer = make_buffer, p.drop_buffer = drop_buffer;
  p.open_queue = open_queue, p.close_queue = close_queue;
  p.record = record, p.drop_recording = drop_recording, p.submit = submit, p.wait = wait;
  p.telemetry = telemetry, p.quiesce = quiesce;
  return p;
}

}  // namespace
}  // namespace tpu_sim

FRL_ENTRY(const frl_offer* offer, frl_error* error) {
  static const frl_plugin table = tpu_sim::make_table();
  if (offer && offer->min_minor <= FRL_MINOR) return &table;
  frl::fail(error, FRL_INCOMPATIBLE, frl::kSiteEntry, "minor: want a host that speaks 0 to 0");
  return nullptr;
}
