#include "conformance/raw/session.h"

#include <mutex>

#include "core/base/text.h"

namespace ferrule::conformance::raw {
namespace {

constexpr uint64_t kQuiesceNs = 5'000'000'000;
std::mutex opening;  // the ABI wants open and close serialised

// A handle that a call gave: there, and of its kind.
template <class Handle>
Result<Held<Handle>> held(Handle* handle, uint32_t tag, void(FRL_CALL* drop)(Handle*),
                          const char* what) {
  if (!handle)
    return Status(Code::internal, cat(what, ": want a handle from a call that succeeds, got NULL"));
  Held<Handle> out(handle, Drop<Handle>{drop});
  if (handle->head.tag != tag)
    return Status(Code::internal,
                  cat(what, ": want a handle with tag ", tag, ", got ", handle->head.tag));
  if (handle->head.size < sizeof(Handle))
    return Status(Code::internal, cat(what, ": want a handle of ", sizeof(Handle),
                                      " bytes or more, got ", handle->head.size));
  return out;
}

template <class T>
GrownRows grown(const std::vector<T>& rows, uint32_t longer_by) {
  return GrownRows(std::span<const T>(rows), longer_by);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string& path, SessionOptions options) {
  const auto at = [hook = options.at](const char* point) {
    if (hook) hook(point);
  };
  FRL_LET(Library library, Library::load(path));
  at("loaded");
  std::unique_ptr<Session> out(new Session(std::move(library)));
  options.services.longer_by = options.longer.of(kPartHost);
  out->services_ = std::make_unique<Services>(options.services);
  out->options_ = std::move(options);
  Error error;
  out->table_ = out->library_.offer(0, FRL_MINOR, error);
  if (!out->table_)
    return error.status(error.value.code ? error.value.code : FRL_INTERNAL, "entry");
  at("entered");
  FRL_TRY(out->list());
  at("listed");
  FRL_TRY(out->reopen());
  at("opened");
  return out;
}

Status Session::list() {
  frl_rows rows{};
  Error error;
  FRL_TRY(error.status(table_->devices(services_->table(), &rows, &error.value), "devices"));
  std::vector<std::string> kinds;
  for (uint32_t i = 0; i < table_->kinds.n; ++i) {
    frl_kind kind;
    frl_row(&kind, sizeof kind, table_->kinds.p, table_->kinds.stride, i);
    FRL_LET(std::string name, read_text(kind.name, "kind"));
    kinds.push_back(std::move(name));
  }
  FRL_LET(auto devices, read_devices(rows, kinds));
  if (options_.device >= devices.size())
    return Status(Code::not_found,
                  cat("device: want one of ", devices.size(), ", got number ", options_.device));
  row_ = std::move(devices[options_.device]);
  return {};
}

Status Session::reopen() {
  close();
  const std::lock_guard lock(opening);
  frl_device* device = nullptr;
  Error error;
  FRL_TRY(error.status(table_->open(services_->table(), row_.own, &device, &error.value), "open"));
  FRL_LET(device_, held(device, FRL_TAG_DEVICE, table_->close, "open"));
  if (device->row != row_.own)
    return Status(Code::internal,
                  "open: want a device with the row that was given, got another row");
  return {};
}

void Session::close() {
  const std::lock_guard lock(opening);
  device_.reset();
}

Status Session::quiesce() {
  quiesced_ = true;
  Error error;
  Status out;
  if (table_->quiesce)
    out = error.status(table_->quiesce(services_->table(), kQuiesceNs, &error.value), "quiesce");
  services_->close();
  return out;
}

Session::~Session() {
  if (!table_ || !services_) return;
  close();
  if (!quiesced_) static_cast<void>(quiesce());
}

Result<Held<frl_kernel>> Session::compile(const Block& region, const CompileOptions& options) {
  const Block grown_region = options_.longer.parts & (kPartRegion | kPartRegionRows)
                                 ? grown_block(region, options_.longer.of(kPartRegion),
                                               options_.longer.of(kPartRegionRows))
                                 : region;
  Grown<frl_compile> request({{sizeof(frl_compile), FRL_TAG_COMPILE},
                              options.cached.empty() ? nullptr : options.cached.data(),
                              options.cached.size(),
                              options.cancel,
                              options.restore_only,
                              0},
                             options_.longer.of(kPartCompile));
  frl_kernel* kernel = nullptr;
  Error error;
  FRL_TRY(error.status(
      table_->compile(device(), grown_region.region(), request.get(), &kernel, &error.value),
      "compile"));
  return held(kernel, FRL_TAG_KERNEL, table_->drop_kernel, "compile");
}

Result<Held<frl_buffer>> Session::make_buffer(uint64_t size_bytes, uint32_t space, void* import,
                                              bool read_only) {
  Grown<frl_space_request> request({{sizeof(frl_space_request), FRL_TAG_SPACE_REQUEST},
                                    size_bytes,
                                    reinterpret_cast<uint64_t>(import),
                                    space,
                                    read_only},
                                   options_.longer.of(kPartSpaceRequest));
  frl_buffer* buffer = nullptr;
  Error error;
  FRL_TRY(error.status(table_->make_buffer(device(), request.get(), &buffer, &error.value),
                       "make_buffer"));
  return held(buffer, FRL_TAG_BUFFER, table_->drop_buffer, "make_buffer");
}

Result<std::unique_ptr<Queue>> Session::open_queue() {
  frl_queue* queue = nullptr;
  Error error;
  FRL_TRY(error.status(table_->open_queue(device(), &queue, &error.value), "open_queue"));
  FRL_LET(auto handle, held(queue, FRL_TAG_QUEUE, table_->close_queue, "open_queue"));
  return std::make_unique<Queue>(*this, std::move(handle));
}

Status Session::refuse(const Block& region) const {
  if (!table_->refuse) return {};
  Error error;
  return error.status(table_->refuse(row_.own, region.region(), &error.value), "refuse");
}

Result<std::vector<std::byte>> Session::serialise(const frl_kernel& kernel) const {
  constexpr std::byte kGuard{0xC7};
  if (!table_->serialise)
    return Status(Code::unsupported, "serialise: the plugin has no such slot");
  uint64_t size = 0;
  Error ask, give;
  const int32_t asked = table_->serialise(&kernel, nullptr, 0, &size, &ask.value);
  if (asked != FRL_NO_MEMORY) FRL_TRY(ask.status(asked, "serialise"));
  if (size > uint64_t(1) << 32)
    return Status(Code::internal, cat("serialise: want at most 4 GiB, got ", size));
  std::vector<std::byte> bytes(size + 64, kGuard);
  FRL_TRY(
      give.status(table_->serialise(&kernel, bytes.data(), size, &size, &give.value), "serialise"));
  for (uint64_t i = bytes.size() - 64; i < bytes.size(); ++i)
    if (bytes[i] != kGuard)
      return Status(Code::internal, "serialise: want at most capacity bytes written, got more");
  bytes.resize(bytes.size() - 64);
  if (size > bytes.size())
    return Status(Code::internal,
                  cat("serialise: want the size it gave at first, ", bytes.size(), ", got ", size));
  bytes.resize(size);
  return bytes;
}

Result<Held<frl_recording>> Queue::record(const SegmentRows& rows) {
  const Longer& longer = session_.longer();
  const GrownRows steps = grown(rows.steps, longer.of(kPartSteps)),
                  args = grown(rows.args, longer.of(kPartArgs)),
                  extents = grown(rows.extents, longer.of(kPartExtents)),
                  fixed = grown(rows.fixed, longer.of(kPartBindings));
  Grown<frl_segment> segment({{sizeof(frl_segment), FRL_TAG_SEGMENT},
                              steps.table(),
                              args.table(),
                              extents.table(),
                              fixed.table(),
                              rows.n_late,
                              rows.n_submit_extents},
                             longer.of(kPartSegment));
  frl_recording* recording = nullptr;
  Error error;
  FRL_TRY(error.status(
      session_.table().record(handle_.get(), segment.get(), &recording, &error.value), "record"));
  return held(recording, FRL_TAG_RECORDING, session_.table().drop_recording, "record");
}

Result<uint64_t> Queue::submit(const Request& request) {
  const Longer& longer = session_.longer();
  const GrownRows late = grown(request.late, longer.of(kPartBindings)),
                  copies = grown(request.copies, longer.of(kPartCopies)),
                  waits = grown(request.waits, longer.of(kPartWaits));
  Grown<frl_submit> submit({{sizeof(frl_submit), FRL_TAG_SUBMIT},
                            request.recording,
                            late.table(),
                            nullptr,
                            copies.table(),
                            waits.table(),
                            last_signal_ + 1,
                            request.cancel,
                            request.step_ns},
                           longer.of(kPartSubmit));
  Error error;
  FRL_TRY(
      error.status(session_.table().submit(handle_.get(), submit.get(), &error.value), "submit"));
  return ++last_signal_;
}

Status Queue::wait(uint64_t value, uint64_t timeout_ns) const {
  Error error;
  return error.status(session_.table().wait(handle_.get(), value, timeout_ns, &error.value),
                      "wait");
}

Status Queue::finish(const Request& request) {
  for (uint64_t oldest = 0;;) {
    auto signal = submit(request);
    if (signal.ok()) return wait(*signal);
    if (signal.status().code() != Code::busy || oldest >= last_signal_) return signal.status();
    FRL_TRY(wait(++oldest));
  }
}

Block grown_block(const Block& block, uint32_t head_by, uint32_t rows_by) {
  const frl_region* r = block.region();
  frl_region head = *r;
  const auto* from = reinterpret_cast<const char*>(r);
  std::vector<uint64_t> words((sizeof head + head_by + 7) / 8, 0xA5A5A5A5A5A5A5A5u);
  // Tables of plain numbers and bytes keep their stride: only rows that are structs can grow.
  const auto put = [&](frl_table frl_region::*field, bool rows) {
    frl_table& table = head.*field;
    const uint32_t stride = table.stride + (rows ? rows_by : 0);
    const size_t at = words.size() * 8;
    words.resize(words.size() + (uint64_t(table.n) * stride + 7) / 8,
                 rows ? 0xA5A5A5A5A5A5A5A5u : 0);
    for (uint32_t i = 0; i < table.n; ++i)
      std::memcpy(reinterpret_cast<char*>(words.data()) + at + uint64_t(i) * stride,
                  from + table.at + uint64_t(i) * table.stride, table.stride);
    table.at = uint32_t(at), table.stride = stride;
  };
  for (auto field : {&frl_region::bodies, &frl_region::nodes, &frl_region::values,
                     &frl_region::dims, &frl_region::symbols, &frl_region::attributes})
    put(field, true);
  for (auto field : {&frl_region::lists, &frl_region::ints, &frl_region::text}) put(field, false);
  head.head.size = uint32_t(sizeof head + head_by), head.bytes = uint32_t(words.size() * 8);
  std::memcpy(words.data(), &head, sizeof head);
  return Block(std::move(words));
}

}  // namespace ferrule::conformance::raw
