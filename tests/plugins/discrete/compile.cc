// From region blocks to programs, and programs to bytes and back.
#include <cstddef>
#include <new>

#include "tests/plugins/discrete/device.h"

namespace discrete {
namespace {

uint64_t hash(const void* p, uint64_t n) {
  uint64_t h = 1469598103934665603ull;
  for (uint64_t i = 0; i < n; ++i)
    h = (h ^ static_cast<const unsigned char*>(p)[i]) * 1099511628211ull;
  return h;
}

struct Saved {
  uint64_t magic, fingerprint, version, region;
  Program program;
  uint64_t check;
};
constexpr uint64_t kMagic = 0x6c656e72656b, kVersion = 1;

struct Reader {
  const frl_region* r;
  frl_body body{};
  explicit Reader(const frl_region* region) : r(region) { FRL_ROW(&body, r, bodies, 0); }

  uint32_t list(uint32_t i) const {
    uint32_t v;
    FRL_ROW(&v, r, lists, i);
    return v;
  }
  frl_value value(uint32_t id) const {
    frl_value v;
    FRL_ROW(&v, r, values, id);
    return v;
  }
  frl_dim dim(const frl_value& v, uint32_t axis) const {
    frl_dim d;
    FRL_ROW(&d, r, dims, v.first_dim + axis);
    return d;
  }
  uint32_t input(uint32_t i) const { return list(body.first_input + i); }
  uint32_t output(uint32_t i) const { return list(body.first_output + i); }
};

// Given extents come one for each given symbol, in order: a symbol's place among them, from 1.
uint32_t given_place(const frl_region* r, uint32_t symbol) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < symbol; ++i) {
    frl_symbol s;
    FRL_ROW(&s, r, symbols, i);
    place += !s.written;
  }
  return place;
}

void load_pointwise(const Reader& in, Program* p) {
  p->rank = in.value(in.output(0)).rank;
  for (uint32_t a = 0; a < p->n_args; ++a) {
    p->values[a] = a < p->n_inputs ? in.input(a) : in.output(a - p->n_inputs);
    const frl_value v = in.value(p->values[a]);
    for (uint32_t d = 0; d < v.rank; ++d) {
      const frl_dim dim = in.dim(v, d);
      const uint32_t axis = d + p->rank - v.rank;
      p->strides[a][axis] = dim.extent == 1 && !dim.symbol ? 0 : dim.stride;
      if (a >= p->n_inputs) p->extents[axis] = dim.extent;
    }
  }
  for (uint32_t id = 0; id < in.r->values.n; ++id)
    if (const frl_value v = in.value(id); v.flags & FRL_VALUE_LITERAL && v.literal_n == 4)
      std::memcpy(&p->known[id], reinterpret_cast<const char*>(in.r) + in.r->text.at + v.literal_at,
                  4);
  p->n_members = in.body.n_nodes;
  for (uint32_t i = 0; i < p->n_members; ++i) {
    frl_node n;
    FRL_ROW(&n, in.r, nodes, in.body.first_node + i);
    p->members[i] = {n.op, in.list(n.first_operand), in.list(n.first_operand + n.n_operands - 1),
                     n.first_result};
  }
}

int32_t load(const frl_region* r, Program* p, frl_error* error) {
  const Reader in(r);
  std::memset(p, 0, sizeof *p);
  p->kind = r->kind, p->n_inputs = in.body.n_inputs,
  p->n_args = in.body.n_inputs + in.body.n_outputs;
  const frl_value shape = in.value(r->kind == FRL_OP_nonzero ? in.input(0) : in.output(0));
  const frl_dim first = shape.rank ? in.dim(shape, 0) : frl_dim{1, 1, 0, 0};
  p->symbol = first.symbol ? given_place(r, first.symbol) : 0, p->m = first.extent;
  if (r->kind == FRL_OP_nonzero) return FRL_OK;
  if (r->kind == FRL_OP_matmul) {
    p->n = in.dim(shape, 1).extent, p->k = in.dim(in.value(in.input(0)), 1).extent;
    return FRL_OK;
  }
  if (r->kind != FRL_OP_pointwise && r->kind != FRL_OP_relu)
    return fail(error, FRL_NOT_CLAIMED, "kind: want pointwise, relu, matmul or nonzero");
  if (p->n_args > kMostArgs || r->values.n > kMostValues || in.body.n_nodes > kMostMembers)
    return fail(error, FRL_NO_ROOM,
                "pointwise: want at most 12 arguments, 64 values and 16 members");
  load_pointwise(in, p);
  return FRL_OK;
}

int32_t restore(const frl_compile* request, uint64_t region, Program* p) {
  Saved s;
  if (!request->cached || request->cached_n != sizeof s) return FRL_FOREIGN;
  std::memcpy(&s, request->cached, sizeof s);
  if (s.check != hash(&s, offsetof(Saved, check)) || s.magic != kMagic ||
      s.fingerprint != kFingerprint || s.region != region)
    return FRL_FOREIGN;
  if (s.version != kVersion) return FRL_STALE;
  *p = s.program;
  return FRL_OK;
}

}  // namespace

int32_t refuse(const frl_device_row*, const frl_region* r, frl_error* error) {
  const Reader in(r);
  for (uint32_t i = 0; i < in.body.n_inputs + in.body.n_outputs; ++i) {
    const frl_value v =
        in.value(i < in.body.n_inputs ? in.input(i) : in.output(i - in.body.n_inputs));
    for (uint32_t d = 1; d < v.rank; ++d)
      if (in.dim(v, d).symbol && r->kind != FRL_OP_nonzero)
        return fail(error, FRL_NO_SHAPE, "symbol: want it on the leading axis only", int32_t(i));
  }
  Program p;
  if (const int32_t code = load(r, &p, error)) return code;
  if (r->kind == FRL_OP_matmul && uint64_t(p.m * p.k) * 4 > kMostScratch)
    return fail(error, FRL_NO_ROOM, "matmul: want a left operand of at most 1 MiB");
  return FRL_OK;
}

uint64_t estimate(const frl_device_row*, const frl_region* r) {
  Program p;
  frl_error error;
  if (r->kind != FRL_OP_matmul || load(r, &p, &error)) return 0;
  return uint64_t(p.m * p.n * p.k) * 2 + 2'000'000;
}

int32_t compile(frl_device* dev, const frl_region* r, const frl_compile* request, frl_kernel** out,
                frl_error* error) {
  auto* k = new (std::nothrow) Kernel{};
  if (!k) return fail(error, FRL_NO_MEMORY, "kernel: no memory");
  k->device = static_cast<Device*>(dev), k->region_hash = hash(r, r->bytes);
  int32_t code = restore(request, k->region_hash, &k->program);
  k->restored = code == FRL_OK;
  if (k->restored) count(kPath_restore);
  if (code && request->cached) host_log(k->device->host, 2, "saved kernel: not usable", 24);
  if (code && request->restore_only)
    return delete k,
           fail(error, code, "restore: want bytes of this region and device, got other ones");
  if (code && (code = load(r, &k->program, error))) return delete k, code;
  k->head = {sizeof(frl_kernel), FRL_TAG_KERNEL};
  const Program& p = k->program;
  if (p.kind == FRL_OP_matmul) {
    k->scratch_bytes = uint64_t(p.m * p.k) * 4;
    k->pack = {1, 0, 1 /* transposed */, uint64_t(p.n * p.k) * 4};
    k->packs = {&k->pack, 1, sizeof k->pack};
  }
  static const frl_alias kInPlace[] = {{0, 0}};
  if (p.kind == FRL_OP_relu) k->aliases = {kInPlace, 1, sizeof kInPlace[0]};
  const std::lock_guard lock(k->device->mutex);
  ++(k->restored ? k->device->counts.restored : k->device->counts.compiled);
  return *out = k, FRL_OK;
}

void drop_kernel(frl_kernel* k) { delete static_cast<Kernel*>(k); }

int32_t serialise(const frl_kernel* kp, void* target, uint64_t capacity, uint64_t* bytes,
                  frl_error* error) {
  const auto* k = static_cast<const Kernel*>(kp);
  Saved s;
  std::memset(&s, 0, sizeof s);
  s.magic = kMagic, s.fingerprint = kFingerprint, s.version = kVersion, s.region = k->region_hash,
  s.program = k->program;
  s.check = hash(&s, offsetof(Saved, check));
  *bytes = sizeof s;
  if (capacity < sizeof s) return fail(error, FRL_NO_MEMORY, "serialise: want more room");
  std::memcpy(target, &s, sizeof s);
  return FRL_OK;
}

}  // namespace discrete
