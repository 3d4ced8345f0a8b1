// FRL_PLUGIN: the table, the entry and the identity note of a plugin whose device is inline.
//
//   class Sample : public frl::InlineDevice {
//    public:
//     using InlineDevice::InlineDevice;
//     static std::span<const frl_device_row> rows();                        // constant for life
//     std::unique_ptr<frl::Kernel> compile(const frl::Region&) override;
//     // optional:
//     static std::span<const frl_option> options();
//     static void check_settings(const frl_host*);                          // throws a Failure
//     static std::span<const frl_kind> kinds();
//     static void refuse(const frl_device_row&, const frl::Region&);        // throws a Failure
//     static uint64_t estimate(const frl_device_row&, const frl::Region&);  // ps
//     static constexpr bool kSerialises = true;                             // Kernel::save counts
//   };
//   FRL_PLUGIN("org.example.sample", "1.0.0", Sample)
#pragma once

#include <type_traits>

#include "plugin-api/sdk/inline_device.h"

namespace frl {

// In front of saved kernel bytes.
struct SavedHeader {
  char mark[8];
  uint64_t fingerprint, region_hash, payload_hash, payload_bytes;
};

template <class Device>
struct InlineApi {
  struct DeviceHandle : frl_device {
    std::unique_ptr<InlineDevice> device;
  };
  static InlineDevice& device_of(const frl_device* d) {
    return *static_cast<const DeviceHandle*>(d)->device;
  }

  static int32_t FRL_CALL devices([[maybe_unused]] const frl_host* host, frl_rows* out,
                                  frl_error* error) {
    return guard(error, kSiteDevices, [&] {
      if constexpr (requires { Device::check_settings(host); }) Device::check_settings(host);
      *out = frl::rows(Device::rows());
    });
  }

  static int32_t FRL_CALL refuse(const frl_device_row* row, const frl_region* region,
                                 frl_error* error) {
    return guard(error, kSiteRefuse, [&] {
      if constexpr (requires(const Region& r) { Device::refuse(*row, r); })
        Device::refuse(*row, Region(region));
    });
  }

  static uint64_t FRL_CALL estimate(const frl_device_row* row, const frl_region* region) {
    uint64_t ps = 0;
    guard(nullptr, kSiteEstimate, [&] {
      if constexpr (requires(const Region& r) { Device::estimate(*row, r); })
        ps = Device::estimate(*row, Region(region));
    });
    return ps;
  }

  static int32_t FRL_CALL open(const frl_host* host, const frl_device_row* row, frl_device** out,
                               frl_error* error) {
    return guard(error, kSiteOpen, [&] {
      if (row->state != FRL_DEVICE_PRESENT)
        throw Failure(FRL_INVALID, "open: want a device that is present");
      auto handle = std::make_unique<DeviceHandle>();
      handle->head = {sizeof(frl_device), FRL_TAG_DEVICE}, handle->row = row;
      handle->device = std::make_unique<Device>(host, row);
      *out = handle.release();
    });
  }
  static void FRL_CALL close(frl_device* device) { delete static_cast<DeviceHandle*>(device); }

  // The payload of saved bytes of this region.
  //   errors  throws FRL_STALE if they are of another version of this plugin, else FRL_FOREIGN
  static std::span<const std::byte> payload(const frl_compile& request, const InlineDevice& device,
                                            uint64_t region_hash) {
    SavedHeader header{};
    const std::span bytes(static_cast<const std::byte*>(request.cached), request.cached_n);
    if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
    const auto rest = bytes.subspan(std::min(bytes.size(), sizeof header));
    if (std::memcmp(header.mark, "FRLKERN1", 8) != 0 || header.region_hash != region_hash ||
        header.payload_bytes != rest.size() || header.payload_hash != hash_bytes(rest))
      throw Failure(FRL_FOREIGN, "saved kernel: damaged, or of another region or plugin");
    if (header.fingerprint != device.row()->fingerprint)
      throw Failure(FRL_STALE, "saved kernel: of another version of this plugin");
    return rest;
  }

  // Null if the cached bytes are of no use and compiling is allowed.
  static std::unique_ptr<Kernel> restored(InlineDevice& device, const Region& region,
                                          const frl_compile& request, uint64_t region_hash) {
    if (!request.cached && !request.restore_only) return nullptr;
    try {
      auto kernel = device.restore(region, payload(request, device, region_hash));
      if (!kernel) throw Failure(FRL_STALE, "saved kernel: not usable any more");
      return kernel;
    } catch (const Failure& why) {
      if (request.restore_only) throw;
      const std::string_view text = why.what();
      device.host()->log(device.host()->self, 2, text.data(), text.size());
      return nullptr;
    }
  }

  static int32_t FRL_CALL compile(frl_device* d, const frl_region* block,
                                  const frl_compile* request_in, frl_kernel** out,
                                  frl_error* error) {
    return guard(error, kSiteCompile, [&] {
      InlineDevice& device = device_of(d);
      const Region region(block);
      const auto request = request_in ? read(*request_in) : frl_compile{};
      auto handle = std::make_unique<KernelHandle>();
      handle->region_hash = hash_bytes(region.bytes());
      handle->kernel = restored(device, region, request, handle->region_hash);
      handle->restored = handle->kernel != nullptr;
      if (!handle->kernel) handle->kernel = device.compile(region);
      if (!handle->kernel) throw Failure(FRL_NOT_CLAIMED, "compile: no kernel for this region");
      const Kernel& k = *handle->kernel;
      handle->head = {sizeof(frl_kernel), FRL_TAG_KERNEL};
      handle->scratch_bytes = k.scratch_bytes;
      handle->packs = frl::rows(k.packs), handle->aliases = frl::rows(k.aliases);
      handle->n_args =
          static_cast<uint32_t>(region.n_present_inputs() + region.n_outputs() +
                                (region.n_symbols(true) ? 1 : 0) + (k.scratch_bytes ? 1 : 0));
      handle->n_extents = region.n_symbols(false);
      ++(handle->restored ? device.counters.restored : device.counters.compiled);
      *out = handle.release();
    });
  }
  static void FRL_CALL drop_kernel(frl_kernel* kernel) {
    delete static_cast<KernelHandle*>(kernel);
  }

  static int32_t FRL_CALL serialise(const frl_kernel* kernel, void* target, uint64_t capacity,
                                    uint64_t* bytes, frl_error* error) {
    return guard(error, kSiteSerialise, [&] {
      const auto& handle = *static_cast<const KernelHandle*>(kernel);
      const std::vector<std::byte> payload = handle.kernel->save();
      const SavedHeader header{{'F', 'R', 'L', 'K', 'E', 'R', 'N', '1'},
                               Device::rows()[0].fingerprint,
                               handle.region_hash,
                               hash_bytes(payload),
                               payload.size()};
      *bytes = payload.empty() ? 0 : sizeof header + payload.size();
      if (*bytes == 0 || !target) return;
      if (capacity < *bytes) throw Failure(FRL_NO_MEMORY, "serialise: capacity is too small");
      std::memcpy(target, &header, sizeof header);
      std::memcpy(static_cast<char*>(target) + sizeof header, payload.data(), payload.size());
    });
  }

  static int32_t FRL_CALL make_buffer(frl_device* d, const frl_space_request* request_in,
                                      frl_buffer** out, frl_error* error) {
    return guard(error, kSiteMakeBuffer, [&] {
      InlineDevice& device = device_of(d);
      const auto request = read(*request_in);
      if (request.space >= device.row()->spaces.n)
        throw Failure(FRL_INVALID, "buffer: want a space of this device");
      auto buffer = std::make_unique<BufferHandle>();
      void* p = reinterpret_cast<void*>(static_cast<uintptr_t>(request.import_address));
      const frl_host* host = device.host();
      if (!p) {
        if (request.bytes <= host_space()->max_alloc_bytes)
          p = host->alloc(host->self, std::max<uint64_t>(request.bytes, 1),
                          buffer_alignment(request.bytes));
        if (!p)
          throw Failure(FRL_NO_MEMORY,
                        "buffer: no room for " + std::to_string(request.bytes) + " bytes",
                        static_cast<int32_t>(request.space));
        buffer->owned = true;
        device.count_bytes(static_cast<int64_t>(request.bytes));
      }
      if (buffer->owned) prefer_large_pages(p, request.bytes);
      buffer->head = {sizeof(frl_buffer), FRL_TAG_BUFFER};
      buffer->host = p, buffer->address = reinterpret_cast<uintptr_t>(p);
      buffer->bytes = request.bytes, buffer->device = &device;
      *out = buffer.release();
    });
  }
  static void FRL_CALL drop_buffer(frl_buffer* b) {
    auto* buffer = static_cast<BufferHandle*>(b);
    const frl_host* host = buffer->device->host();
    if (buffer->owned) {
      host->release(host->self, buffer->host, std::max<uint64_t>(buffer->bytes, 1),
                    buffer_alignment(buffer->bytes));
      buffer->device->count_bytes(-static_cast<int64_t>(buffer->bytes));
    }
    delete buffer;
  }

  static int32_t FRL_CALL open_queue(frl_device* d, frl_queue** out, frl_error* error) {
    return guard(error, kSiteOpenQueue, [&] {
      InlineDevice& device = device_of(d);
      auto queue = std::make_unique<InlineQueue>(&device, device.host());
      device.add_queue(queue.get());
      *out = queue.release();
    });
  }
  static void FRL_CALL close_queue(frl_queue* q) {
    auto* queue = static_cast<InlineQueue*>(q);
    queue->device()->remove_queue(queue);
    delete queue;
  }

  static int32_t FRL_CALL record(frl_queue* q, const frl_segment* segment, frl_recording** out,
                                 frl_error* error) {
    return guard(error, kSiteRecord, [&] {
      *out = std::make_unique<Recording>(q, static_cast<InlineQueue*>(q)->host(), read(*segment))
                 .release();
    });
  }
  static void FRL_CALL drop_recording(frl_recording* recording) {
    delete static_cast<Recording*>(recording);
  }

  static int32_t FRL_CALL submit(frl_queue* q, const frl_submit* request, frl_error* error) {
    auto* queue = static_cast<InlineQueue*>(q);
    if (request->head.size >= sizeof(frl_submit)) return queue->submit(*request, error);
    return queue->submit(read(*request), error);
  }
  static int32_t FRL_CALL wait(const frl_queue* q, uint64_t value, uint64_t timeout_ns,
                               frl_error* error) {
    return static_cast<const InlineQueue*>(q)->wait(value, timeout_ns, error);
  }

  static void FRL_CALL telemetry(const frl_device* d, frl_telemetry* out) {
    frl_telemetry full{};
    device_of(d).fill(&full);
    full.head = out->head;
    std::memcpy(static_cast<void*>(out), &full, std::min<size_t>(out->head.size, sizeof full));
  }
  static int32_t FRL_CALL quiesce(const frl_host*, uint64_t, frl_error*) { return FRL_OK; }

  // A struct from the other side: what is missing of it is zero.
  template <class T>
  static T read(const T& given) {
    T out;
    frl_row(&out, sizeof out, &given, given.head.size, 0);
    return out;
  }

  static frl_plugin make(std::string_view id, std::string_view version) {
    frl_plugin p{};
    p.head = {sizeof p, FRL_TAG_PLUGIN};
    p.minor = FRL_MINOR, p.flags = FRL_PLUGIN_CAN_UNLOAD;
    p.id = str(id), p.version = str(version);
    if constexpr (requires { Device::options(); }) p.options = frl::rows(Device::options());
    if constexpr (requires { Device::kinds(); }) p.kinds = frl::rows(Device::kinds());
    p.devices = devices, p.open = open, p.close = close;
    if constexpr (requires(const Region& r) { Device::refuse(frl_device_row{}, r); })
      p.refuse = refuse;
    if constexpr (requires(const Region& r) { Device::estimate(frl_device_row{}, r); })
      p.estimate = estimate;
    p.compile = compile, p.drop_kernel = drop_kernel;
    if constexpr (requires { Device::kSerialises; }) p.serialise = serialise;
    p.make_buffer = make_buffer, p.drop_buffer = drop_buffer;
    p.open_queue = open_queue, p.close_queue = close_queue;
    p.record = record, p.drop_recording = drop_recording;
    p.submit = submit, p.wait = wait, p.telemetry = telemetry, p.quiesce = quiesce;
    return p;
  }
};

// The entry's answer to an offer.
inline const frl_plugin* negotiate(const frl_plugin* table, const frl_offer* offer,
                                   frl_error* error) {
  if (offer && offer->min_minor <= FRL_MINOR) return table;
  fail(error, FRL_INCOMPATIBLE, kSiteEntry, "minor: want a host that speaks 0 to 0");
  return nullptr;
}

}  // namespace frl

// id and version are string literals; Device derives from frl::InlineDevice.
#define FRL_PLUGIN(id, version, Device)                                        \
  FRL_IDENTITY(id, version, FRL_HOST_ISA);                                     \
  FRL_ENTRY(const frl_offer* offer, frl_error* error) {                        \
    static const frl_plugin table = frl::InlineApi<Device>::make(id, version); \
    return frl::negotiate(&table, offer, error);                               \
  }                                                                            \
  static_assert(FRL_MINOR == 0, "negotiate() answers for minor 0");
