// A: the line itself. Structs longer than the plugin knows, offers of every kind, required slots,
// tables, and the rules of errors and handles.
#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/raw/process.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"
#include "core/driver/library.h"

namespace ferrule::conformance {
namespace {

using raw::Error;
using raw::Library;
using raw::Longer;

Outcome with_library(const Target& target,
                     const std::function<std::string(const Library&)>& check) {
  const auto library = Library::load(target.path);
  return library.ok() ? raw::outcome_of(check(*library)) : fail(library.status().message());
}

// "" or what is wrong with the table that answers an acceptable offer.
std::string check_answer(const frl_plugin* table, const Error& error, uint32_t max_minor) {
  if (!table) return cat("entry: want a table for an offer that holds minor 0, got ", error.text());
  if (const std::string fault = error.fault(FRL_OK); !fault.empty()) return cat("entry: ", fault);
  if (table->head.tag != FRL_TAG_PLUGIN)
    return cat("table.head.tag: want ", int(FRL_TAG_PLUGIN), ", got ", table->head.tag);
  if (table->head.size < sizeof(frl_plugin))
    return cat("table.head.size: want at least ", sizeof(frl_plugin), ", got ", table->head.size);
  if (table->minor > max_minor)
    return cat("table.minor: want at most ", max_minor, ", got ", table->minor);
  return "";
}

// ---- offers ----
struct OfferRow {
  const char* name;
  uint32_t min_minor, max_minor, longer_by;
  uint64_t features;
  bool refused;  // no minor in common
};
constexpr OfferRow kOffers[] = {
    {"A/offer/exact", 0, FRL_MINOR, 0, 0, false},
    {"A/offer/8_bytes_longer", 0, FRL_MINOR, 8, 0, false},
    {"A/offer/64_bytes_longer", 0, FRL_MINOR, 64, 0, false},
    {"A/offer/4096_bytes_longer", 0, FRL_MINOR, 4096, 0, false},
    {"A/offer/newer_host_overlaps", 0, FRL_MINOR + 7, 0, 0, false},
    {"A/offer/every_minor", 0, UINT32_MAX, 0, 0, false},
    {"A/offer/unknown_features", 0, FRL_MINOR, 0, ~uint64_t{0}, false},
    {"A/offer/newer_host_with_features", 0, FRL_MINOR + 1, 64, uint64_t{1} << 63, false},
    {"A/offer/misses_by_one", FRL_MINOR + 1, FRL_MINOR + 1, 0, 0, true},
    {"A/offer/misses_by_far", 1000, 2000, 0, 0, true},
    {"A/offer/misses_and_longer", 1000, UINT32_MAX, 64, 0, true},
};

std::string check_refused(const frl_plugin* table, const Error& error, const Inspection& note) {
  if (table) return "entry: want NULL for an offer above the plugin's range, got a table";
  if (error.value.code != FRL_INCOMPATIBLE)
    return cat("entry: want code ", int(FRL_INCOMPATIBLE), " (incompatible), got ",
               error.value.code);
  if (const std::string fault = error.fault(error.value.code); !fault.empty())
    return cat("entry: ", fault);
  for (uint32_t minor : {note.min_minor, note.max_minor})
    if (error.text().find(cat(minor)) == std::string::npos)
      return cat("entry: want a text that names the plugin's own range, ", note.min_minor, " to ",
                 note.max_minor, ", got ", error.text());
  return "";
}

// A plugin that speaks this minor too is right to accept.
bool speaks(const Inspection& note, uint32_t minor) {
  return note.min_minor <= minor && minor <= note.max_minor;
}

Outcome run_offer(const Target& target, const OfferRow& row) {
  const auto note = inspect_library(target.path);
  if (!note.ok()) return fail(note.status().message());
  return with_library(target, [&](const Library& library) -> std::string {
    Error error;
    const frl_plugin* table =
        library.offer(row.min_minor, row.max_minor, error, row.longer_by, row.features);
    if (row.refused && !speaks(*note, row.min_minor)) return check_refused(table, error, *note);
    const std::string wrong = check_answer(table, error, row.max_minor);
    if (!wrong.empty() || row.features == 0 || FRL_MINOR > 0) return wrong;
    return table->features
               ? cat("table.features: want none, since minor 0 defines none, got ", table->features)
               : "";
  });
}

// ---- the table ----
#define SLOT(name) \
  { #name, offsetof(frl_plugin, name) }
struct Slot {
  const char* name;
  size_t at;
};
constexpr Slot kRequired[] = {
    SLOT(devices),        SLOT(open),        SLOT(close),      SLOT(compile),     SLOT(drop_kernel),
    SLOT(make_buffer),    SLOT(drop_buffer), SLOT(open_queue), SLOT(close_queue), SLOT(record),
    SLOT(drop_recording), SLOT(submit),      SLOT(wait)};
#undef SLOT

const frl_plugin* table_of(const Library& library) {
  Error error;
  return library.offer(0, FRL_MINOR, error);
}

std::string same_table(const Library& library) {
  const frl_plugin* first = table_of(library);
  if (!first) return "entry: want a table, got NULL";
  const frl_plugin before = *first;
  for (int i = 0; i < 100; ++i) {
    Error refused;
    library.offer(FRL_MINOR + 1000, FRL_MINOR + 1001, refused);
    if (table_of(library) != first)
      return cat("entry: want the same table at each call, got another one at call ", i + 2);
  }
  return std::memcmp(&before, first, sizeof before) == 0
             ? ""
             : "table: want it constant, it changed between two calls of the entry";
}

std::string required_slots(const Library& library) {
  const frl_plugin* table = table_of(library);
  if (!table) return "entry: want a table, got NULL";
  for (const Slot& slot : kRequired) {
    const void* fn = nullptr;
    std::memcpy(&fn, reinterpret_cast<const char*>(table) + slot.at, sizeof fn);
    if (!fn) return cat("table.", slot.name, ": want a function, got NULL");
  }
  return "";
}

std::string text_of(const frl_str& s) { return s.p ? std::string(s.p, s.n) : std::string(); }

std::string check_rows(const frl_rows& rows, uint32_t least, const std::string& name) {
  if (rows.n == 0) return "";
  if (!rows.p) return cat(name, ": want rows, got NULL for ", rows.n);
  return rows.stride < least
             ? cat(name, ": want a stride of at least ", least, ", got ", rows.stride)
             : "";
}

std::string identity(const Target& target, const Library& library) {
  const auto note = inspect_library(target.path);
  if (!note.ok()) return note.status().message();
  const frl_plugin* table = table_of(library);
  if (!table) return "entry: want a table, got NULL";
  if (text_of(table->id) != note->id)
    return cat("id: want that of the identity note, ", note->id, ", got ", text_of(table->id));
  if (text_of(table->version) != note->version)
    return cat("version: want that of the identity note, ", note->version, ", got ",
               text_of(table->version));
  if (!speaks(*note, table->minor))
    return cat("minor: want one of the identity note, ", note->min_minor, " to ", note->max_minor,
               ", got ", table->minor);
  if (note->id.find('.') == std::string::npos)
    return cat("id: want a reverse domain name, got ", note->id);
  for (char c : note->id)
    if (!(c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')))
      return cat("id: want small letters, digits, points and dashes, got ", note->id);
  if (table->flags & ~uint32_t(FRL_PLUGIN_CAN_UNLOAD))
    return cat("flags: want those of minor 0, got ", table->flags);
  for (uint32_t i = 0; i < table->kinds.n; ++i) {
    frl_kind kind;
    frl_row(&kind, sizeof kind, table->kinds.p, table->kinds.stride, i);
    if (!text_of(kind.name).starts_with(note->id + "."))
      return cat("kind ", i, ": want the plugin's id as its prefix, got ", text_of(kind.name));
  }
  return "";
}

std::string table_strides(const Library& library) {
  const frl_plugin* table = table_of(library);
  if (!table) return "entry: want a table, got NULL";
  for (const std::string& fault : {check_rows(table->options, sizeof(frl_option), "options"),
                                   check_rows(table->kinds, sizeof(frl_kind), "kinds")})
    if (!fault.empty()) return fault;
  return "";
}

Outcome entry_is_pure(const Target& target) {
  const auto ended = raw::run_errand(raw::kWatchEntry, {target.path});
  if (!ended.ok()) return {Verdict::internal_error, ended.status().message()};
  if (ended->rc == 2) return {Verdict::not_claimed, "this system cannot filter system calls"};
  if (ended->rc == 0)
    return raw::outcome_of(ended->output.empty() ? ""
                                                 : cat("entry: want silence, got ", ended->output));
  return fail(cat("entry: want no thread, process, file or socket, got ",
                  ended->report.empty() ? ended->how() : ended->report));
}

// ---- structs of the later calls ----
struct LongerRow {
  const char* name;
  uint32_t parts;
};
constexpr LongerRow kLonger[] = {
    {"host", raw::kPartHost},
    {"compile", raw::kPartCompile},
    {"space_request", raw::kPartSpaceRequest},
    {"segment", raw::kPartSegment},
    {"submit", raw::kPartSubmit},
    {"region", raw::kPartRegion},
    {"region_rows", raw::kPartRegionRows},
    {"steps", raw::kPartSteps},
    {"args", raw::kPartArgs},
    {"bindings", raw::kPartBindings},
    {"copies", raw::kPartCopies},
    {"waits", raw::kPartWaits},
    {"everything", ~0u},
};

// One submit that waits for another's, so that wait rows cross as well.
Status two_in_order(raw::Session& session) {
  FRL_LET(auto queue, session.open_queue());
  FRL_LET(auto buffer, session.make_buffer(8));
  const uint64_t value = 0x0123456789abcdef;
  uint64_t back = 0;
  FRL_LET(const uint64_t up,
          queue->submit({.copies = {raw::copy_of(raw::whole(buffer), raw::address(&value), 8)}}));
  FRL_TRY(queue->finish({.copies = {raw::copy_of(raw::address(&back), raw::whole(buffer), 8)},
                         .waits = {{queue->handle(), up}}}));
  return back == value
             ? Status()
             : Status(Code::internal, cat("copy: want the bytes back, ", value, ", got ", back));
}

Outcome run_longer(const Target& target, const LongerRow& row, uint32_t bytes) {
  raw::SessionOptions options;
  options.longer = {row.parts, bytes};
  const auto check = [](raw::Session& session) {
    FRL_CHECK(two_in_order(session));
    return raw::outcome_of(raw::runs_right(session));
  };
  return raw::with_session(target, check, options);
}

Outcome telemetry_room(raw::Session& session, uint32_t size) {
  if (!session.table().telemetry)
    return {Verdict::not_claimed, "telemetry: the plugin has no such slot"};
  std::vector<uint64_t> words((size + 7) / 8 + 32, 0xC7C7C7C7C7C7C7C7u);
  auto* out = reinterpret_cast<frl_telemetry*>(words.data());
  out->head = {size, FRL_TAG_TELEMETRY};
  session.table().telemetry(session.device(), out);
  const auto* bytes = reinterpret_cast<const unsigned char*>(words.data());
  for (size_t i = size; i < words.size() * 8; ++i)
    if (bytes[i] != 0xC7)
      return fail(
          cat("telemetry: want at most the ", size, " bytes of head.size written, got byte ", i));
  return pass(1);
}

std::string check_device_rows(raw::Session& session) {
  std::string wrong;
  const auto look = [&](const frl_rows& rows, uint32_t least, const std::string& name) {
    if (wrong.empty()) wrong = check_rows(rows, least, name);
  };
  const frl_device_row& row = *session.row().own;
  look(row.claims, sizeof(frl_claim), "claims");
  look(row.spaces, sizeof(frl_space), "spaces");
  if (row.cost) look(row.cost->arithmetic, sizeof(frl_rate), "cost.arithmetic");
  for (uint32_t i = 0; i < row.claims.n && wrong.empty(); ++i) {
    frl_claim claim;
    frl_row(&claim, sizeof claim, row.claims.p, row.claims.stride, i);
    look(claim.operands, sizeof(frl_operand), cat("claim ", i, ": operands"));
    look(claim.choices, sizeof(frl_choice), cat("claim ", i, ": choices"));
    for (const auto& [list, name] : {std::pair{claim.members, "members"},
                                     {claim.prologue, "prologue"},
                                     {claim.epilogue, "epilogue"}})
      look(list, sizeof(uint32_t), cat("claim ", i, ": ", name));
  }
  if (wrong.empty() && row.cost && row.cost->head.tag != FRL_TAG_COST)
    wrong = cat("cost.head.tag: want ", int(FRL_TAG_COST), ", got ", row.cost->head.tag);
  return wrong;
}

void list_with_device(std::vector<Case>& cases) {
  for (uint32_t bytes : {8u, 64u})
    for (const LongerRow& row : kLonger)
      cases.push_back({cat("A/", row.name, "/", bytes, "_bytes_longer"),
                       [&row, bytes](const Target& t) { return run_longer(t, row, bytes); }});
  for (const auto& [name, size] : {std::pair{"short", 16u},
                                   {"shorter_by_8", uint32_t(sizeof(frl_telemetry)) - 8},
                                   {"longer_by_64", uint32_t(sizeof(frl_telemetry)) + 64}})
    cases.push_back({cat("A/telemetry/", name), [size = size](const Target& t) {
                       return raw::with_session(
                           t, [size](raw::Session& s) { return telemetry_room(s, size); });
                     }});
  cases.push_back({"A/device/strides", [](const Target& t) {
                     return raw::with_session(
                         t, [](raw::Session& s) { return raw::outcome_of(check_device_rows(s)); });
                   }});
}

}  // namespace

void list_abi(const Target& target, std::vector<Case>& cases) {
  for (const OfferRow& row : kOffers)
    cases.push_back({row.name, [&row](const Target& t) { return run_offer(t, row); }});
  cases.push_back({"A/entry/pure", entry_is_pure});
  cases.push_back(
      {"A/entry/same_table", [](const Target& t) { return with_library(t, same_table); }});
  cases.push_back(
      {"A/table/required_slots", [](const Target& t) { return with_library(t, required_slots); }});
  cases.push_back(
      {"A/table/strides", [](const Target& t) { return with_library(t, table_strides); }});
  cases.push_back({"A/table/identity", [](const Target& t) {
                     return with_library(
                         t, [&](const Library& library) { return identity(t, library); });
                   }});
  if (raw::has_device(target)) list_with_device(cases);
}

}  // namespace ferrule::conformance
