// Rows, devices, buffers and the table.
#include <new>

#include "tests/plugins/discrete/device.h"

FRL_IDENTITY("org.ferrule.discrete", "0.1", "any");

namespace discrete {
namespace {

template <uint64_t N>
constexpr frl_str str(const char (&s)[N]) {
  return {s, N - 1};
}
template <class T, uint32_t N>
constexpr frl_rows rows(const T (&t)[N]) {
  return {t, N, sizeof(T)};
}

// ---- what it is ----
constexpr uint64_t f32 = FRL_BIT(FRL_F32), i64 = FRL_BIT(FRL_I64);
constexpr uint32_t dense = FRL_LAYOUT_DENSE;
constexpr frl_operand kMatmul[] = {{f32, 0, dense, 0, 1, 2, 2, 0, 0},
                                   {f32, 0, dense, 0, 1, 2, 2, FRL_OPERAND_PARAMETER, 0},
                                   {f32, 0, dense, 0, 1, 2, 2, FRL_OPERAND_RESULT, 0}};
constexpr frl_operand kRelu[] = {{f32, 0, dense, 0, 1, 0, kMostRank, 0, 0},
                                 {f32, 0, dense, 0, 1, 0, kMostRank, FRL_OPERAND_RESULT, 0}};
constexpr frl_operand kNonzero[] = {{f32, 0, dense, 0, 0, 1, 1, 0, 0},
                                    {i64, 0, dense, 0, 0, 2, 2, FRL_OPERAND_RESULT, 0}};
constexpr frl_operand kPointwise[] = {
    {f32, 0, dense | FRL_LAYOUT_STRIDED, FRL_BROADCAST_ANY, 1, 0, kMostRank, FRL_OPERAND_REPEAT, 0},
    {f32, 0, dense, 0, 1, 0, kMostRank, FRL_OPERAND_RESULT | FRL_OPERAND_REPEAT, 0}};
constexpr uint32_t kMembers[] = {FRL_OP_identity, FRL_OP_neg, FRL_OP_relu,
                                 FRL_OP_add,      FRL_OP_sub, FRL_OP_mul};
constexpr frl_claim claim(uint32_t op, frl_rows operands, uint32_t error) {
  frl_claim c{};
  c.op = op, c.shapes = FRL_SHAPES_STATIC | FRL_SHAPES_BOUNDED, c.compute = FRL_COMPUTE_IEEE,
  c.operands = operands;
  c.max_dim = 1 << 16, c.scratch_bytes = kMostScratch, c.determinism = FRL_SAME_BITS_ANY_THREADS;
  c.error = error, c.error_milli = error ? 1000 : 0;
  return c;
}
constexpr frl_claim pointwise_claim() {
  frl_claim c = claim(FRL_OP_pointwise, rows(kPointwise), FRL_ERROR_EXACT);
  c.max_nodes = kMostMembers, c.max_inputs = 8, c.max_outputs = 4, c.members = rows(kMembers);
  return c;
}
constexpr frl_claim kClaims[] = {claim(FRL_OP_matmul, rows(kMatmul), FRL_ERROR_CONDITION),
                                 claim(FRL_OP_relu, rows(kRelu), FRL_ERROR_EXACT),
                                 claim(FRL_OP_nonzero, rows(kNonzero), FRL_ERROR_EXACT),
                                 pointwise_claim()};
constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 1'000'000}};
constexpr frl_cost kCost = {{sizeof(frl_cost), FRL_TAG_COST},
                            2'000'000,
                            20'000'000,
                            1280,
                            20480,
                            20480,
                            20480,
                            0,
                            5'000'000,
                            rows(kRates),
                            FRL_BASIS_ESTIMATED,
                            0};

}  // namespace

const frl_space kSpaces[2] = {
    {FRL_SPACE_DEVICE, 256, 1ull << 32, 1ull << 28, 1ull << 28},
    {FRL_SPACE_DEVICE | FRL_SPACE_HOST_VISIBLE, 64, 1ull << 30, 1ull << 28, 1ull << 28}};
const frl_device_row kDevice = {str("discrete:0"),
                                str("sim"),
                                str("1.0"),
                                {},
                                {0xd1, 0x5c},
                                FRL_DEVICE_PRESENT,
                                0,
                                {},
                                FRL_DEVICE_OWN_THREADS,
                                4,
                                12,
                                0,
                                kFingerprint,
                                rows(kClaims),
                                {kSpaces, 2, sizeof(frl_space)},
                                &kCost};

int32_t fail(frl_error* e, int32_t code, const char* text, int32_t subject) {
  std::memset(e, 0, sizeof *e);
  e->code = code, e->subject = subject, e->text_n = uint32_t(std::strlen(text));
  std::memcpy(e->text, text, e->text_n);
  return code;
}

namespace {

// ---- devices and buffers ----
int32_t devices(const frl_host*, frl_rows* out, frl_error*) {
  return *out = {&kDevice, 1, sizeof kDevice}, FRL_OK;
}

int32_t open(const frl_host* host, const frl_device_row* row, frl_device** out, frl_error* error) {
  if (row != &kDevice) return fail(error, FRL_INVALID, "row: want the plugin's own, got a copy");
  auto* d = new (std::nothrow) Device{};
  if (!d) return fail(error, FRL_NO_MEMORY, "device: no memory");
  d->head = {sizeof(frl_device), FRL_TAG_DEVICE}, d->row = row, d->host = host;
  return *out = d, FRL_OK;
}
void close(frl_device* d) { delete static_cast<Device*>(d); }

int32_t make_buffer(frl_device* dev, const frl_space_request* request, frl_buffer** out,
                    frl_error* error) {
  if (request->space > 1)
    return fail(error, FRL_INVALID, "space: want 0 or 1", int32_t(request->space));
  if (request->bytes > kSpaces[request->space].max_alloc_bytes)
    return fail(error, FRL_NO_MEMORY, "buffer: want at most 256 MiB", int32_t(request->space));
  auto* b = new (std::nothrow) Buffer{};
  if (!b) return fail(error, FRL_NO_MEMORY, "buffer: no memory");
  b->head = {sizeof(frl_buffer), FRL_TAG_BUFFER};
  b->device = static_cast<Device*>(dev), b->bytes = request->bytes,
  b->owned = !request->import_address;
  if (!b->owned) count(kPath_import);
  b->memory = static_cast<char*>(b->owned ? host_alloc(b->device->host, request->bytes + 1, 256)
                                          : reinterpret_cast<void*>(request->import_address));
  if (!b->memory)
    return delete b, fail(error, FRL_NO_MEMORY, "buffer: no memory", int32_t(request->space));
  b->host = kSpaces[request->space].flags & FRL_SPACE_HOST_VISIBLE ? b->memory : nullptr;
  const std::lock_guard lock(b->device->mutex);
  frl_telemetry& counts = b->device->counts;
  counts.live_bytes += b->bytes;
  if (counts.live_bytes > counts.peak_bytes) counts.peak_bytes = counts.live_bytes;
  return *out = b, FRL_OK;
}
void drop_buffer(frl_buffer* p) {
  auto* b = static_cast<Buffer*>(p);
  if (b->owned) host_release(b->device->host, b->memory, b->bytes + 1, 256);
  {
    const std::lock_guard lock(b->device->mutex);
    b->device->counts.live_bytes -= b->bytes;
  }
  delete b;
}

void telemetry(const frl_device* dp, frl_telemetry* out) {
  const auto* d = static_cast<const Device*>(dp);
  const std::lock_guard lock(d->mutex);
  const frl_head head = out->head;
  std::memcpy(out, &d->counts, head.size < sizeof *out ? head.size : sizeof *out);
  out->head = head;
}
int32_t quiesce(const frl_host*, uint64_t, frl_error* error) {
  return live_threads() == 0 ? FRL_OK
                             : fail(error, FRL_INVALID, "quiesce: want every queue closed");
}

// ---- the table, every slot counted ----
template <Slot slot, class Fn>
struct Counted;
template <Slot slot, class R, class... A>
struct Counted<slot, R (*)(A...)> {
  template <R (*fn)(A...)>
  static R FRL_CALL call(A... a) {
    count(slot);
    return fn(a...);
  }
};

const frl_plugin kPlugin = [] {
  frl_plugin p{};
  p.head = {sizeof(frl_plugin), FRL_TAG_PLUGIN};
  p.id = str("org.ferrule.discrete"), p.version = str("0.1");
#define X(name) p.name = &Counted<kPlugin_##name, decltype(&name)>::template call<&name>;
  DISCRETE_PLUGIN_SLOTS(X)
#undef X
  return p;
}();

}  // namespace

std::atomic<uint64_t> calls[kSlots];

}  // namespace discrete

FRL_ENTRY(const frl_offer* offer, frl_error* error) {
  if (offer->min_minor == 0) return &discrete::kPlugin;
  return discrete::fail(error, FRL_INCOMPATIBLE, "minor: want 0 to 0"), nullptr;
}

#ifdef DISCRETE_COUNTED
// For the tests: how often slot `i` was called and what it is called; null behind the last.
FRL_EXPORT const char* discrete_calls(uint32_t i, uint64_t* n);
const char* discrete_calls(uint32_t i, uint64_t* n) {
#define X(name) "plugin." #name,
#define Y(name) "host." #name,
#define Z(name) "path." #name,
  static const char* const kNames[] = {DISCRETE_PLUGIN_SLOTS(X) DISCRETE_HOST_SLOTS(Y)
                                           DISCRETE_PATHS(Z)};
  if (i >= discrete::kSlots) return nullptr;
  *n = discrete::calls[i];
  return kNames[i];
}
#endif
