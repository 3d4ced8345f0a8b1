// Loads cpu.so beside this file, takes the fault that the file's own name says, and forwards.
#include "tests/conformance/mutants/mutant.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

FRL_IDENTITY("org.ferrule.mutant", "0.1.0", "x86-64");

namespace mutant {

Hooks hooks;
const frl_plugin* real = nullptr;
const frl_device_row* real_row = nullptr;

int32_t fail(frl_error* e, int32_t code, const char* text, int32_t subject) {
  std::memset(e, 0, sizeof *e);
  e->code = code, e->subject = subject, e->text_n = uint32_t(std::strlen(text));
  std::memcpy(e->text, text, e->text_n);
  return code;
}

namespace {

struct FaultRow {
  const char* name;
  void (*plant)(Hooks&);
};
constexpr FaultRow kFaults[] = {
#define MUTANT(name, family, glob, doc) {#name, fault_##name},
#include "tests/conformance/mutants/mutants.def"
#undef MUTANT
};

frl_plugin table;
Rows rows;
std::once_flag listed;

// ---- regions of kernels ----
std::mutex mutex;
std::map<const frl_kernel*, std::vector<uint64_t>> regions;

std::vector<uint64_t> words_of(const frl_region* region) {
  std::vector<uint64_t> out((region->bytes + 7) / 8);
  std::memcpy(out.data(), region, region->bytes);
  return out;
}

template <class T>
std::vector<T> copies(const frl_rows& given) {
  std::vector<T> out(given.n);
  for (uint32_t i = 0; i < given.n; ++i) frl_row(&out[i], sizeof(T), given.p, given.stride, i);
  return out;
}

void list_once(const frl_rows& given) {
  real_row = static_cast<const frl_device_row*>(given.p);
  rows.row = *real_row;
  rows.claims = copies<frl_claim>(real_row->claims),
  rows.spaces = copies<frl_space>(real_row->spaces);
  rows.rates = copies<frl_rate>(real_row->cost->arithmetic), rows.cost = *real_row->cost;
  if (hooks.rows) hooks.rows(rows);
  rows.row.claims = frl::rows(rows.claims), rows.row.spaces = frl::rows(rows.spaces);
  rows.cost.arithmetic = frl::rows(rows.rates);
  rows.row.cost = &rows.cost;
}

int32_t FRL_CALL devices(const frl_host* host, frl_rows* out, frl_error* error) {
  frl_rows given{};
  if (const int32_t code = real->devices(host, &given, error)) return code;
  std::call_once(listed, list_once, given);
  *out = {&rows.row, 1, sizeof rows.row};
  return FRL_OK;
}

int32_t FRL_CALL refuse(const frl_device_row*, const frl_region* region, frl_error* error) {
  return real->refuse(real_row, region, error);
}

int32_t FRL_CALL open(const frl_host* host, const frl_device_row*, frl_device** out,
                      frl_error* error) {
  if (const int32_t code = real->open(host, real_row, out, error)) return code;
  (*out)->row = &rows.row;
  return FRL_OK;
}

int32_t FRL_CALL compile(frl_device* device, const frl_region* region, const frl_compile* request,
                         frl_kernel** out, frl_error* error) {
  Edit edit{words_of(region)};
  if (hooks.region) hooks.region(edit);
  if (const int32_t code =
          real->compile(device, hooks.region ? edit.region() : region, request, out, error))
    return code;
  if (!hooks.wants_steps()) return FRL_OK;
  const std::lock_guard lock(mutex);
  regions[*out] = words_of(region);
  return FRL_OK;
}

void FRL_CALL drop_kernel(frl_kernel* kernel) {
  {
    const std::lock_guard lock(mutex);
    regions.erase(kernel);
  }
  real->drop_kernel(kernel);
}

// The folder and the name of the fault, from mutant-<name>.so.
bool split_path(std::string* folder, std::string* name) {
  Dl_info facts{};
  if (!dladdr(reinterpret_cast<const void*>(&split_path), &facts) || !facts.dli_fname) return false;
  const std::string path = facts.dli_fname;
  const size_t slash = path.rfind('/'), start = path.rfind("mutant-"), end = path.rfind(".so");
  if (slash == path.npos || start == path.npos || end == path.npos) return false;
  *folder = path.substr(0, slash);
  *name = path.substr(start + 7, end - start - 7);
  return true;
}

// Runs when the file is loaded, so that the entry stays pure.
void start() {
  std::string folder, name;
  if (!split_path(&folder, &name)) return;
  bool known = false;
  for (const FaultRow& row : kFaults)
    if (name == row.name) known = true, row.plant(hooks);
  void* library = known ? dlopen((folder + "/cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) return;
  const auto entry = reinterpret_cast<frl_entry_fn>(dlsym(library, "frl_plugin_v1"));
  const frl_offer offer{{sizeof offer, FRL_TAG_OFFER}, 0, FRL_MINOR, 0};
  frl_error error{};
  real = entry ? entry(&offer, &error) : nullptr;
  if (!real) return;
  table = *real;
  table.flags = 0;
  table.id = frl::str("org.ferrule.mutant");
  table.devices = devices, table.refuse = refuse, table.open = open;
  table.compile = compile, table.drop_kernel = drop_kernel;
  if (hooks.wants_steps()) install_stepped(table);
  if (hooks.table) hooks.table(table);
}
// Defined behind `hooks`, and so made after it.
[[maybe_unused]] const bool started = (start(), true);

}  // namespace

const frl_device_row* own_row() { return &rows.row; }

std::vector<uint64_t> region_of(const frl_kernel* kernel) {
  const std::lock_guard lock(mutex);
  const auto it = regions.find(kernel);
  return it == regions.end() ? std::vector<uint64_t>() : it->second;
}

}  // namespace mutant

FRL_ENTRY(const frl_offer* offer, frl_error* error) {
  using namespace mutant;
  if (!real)
    return fail(error, FRL_INTERNAL,
                "mutant: want cpu.so beside it and a name that mutants.def has"),
           nullptr;
  if (hooks.exact_offer && offer->head.size != sizeof(frl_offer))
    return fail(error, FRL_INCOMPATIBLE, "offer: want the size of minor 0 to 0"), nullptr;
  if (offer->min_minor <= FRL_MINOR || hooks.takes_any_offer) return &table;
  return fail(error, FRL_INCOMPATIBLE,
              hooks.silent_refusal ? "no" : "minor: want a host that speaks 0 to 0"),
         nullptr;
}
