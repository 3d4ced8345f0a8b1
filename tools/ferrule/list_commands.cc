// plugins, devices, ops, config: what there is.
#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/text.h"
#include "tools/ferrule/command.h"
#include "tools/ferrule/probe.h"

namespace ferrule::cli {
namespace {

const char* state_name(uint32_t state) {
  constexpr const char* kNames[] = {"present", "absent", "profile"};
  return kNames[state];
}

// A list is a document whatever devices there are, but those that were named must be among them.
int judge_targets(const Runtime& runtime) {
  const Config& config = runtime.config();
  if (Status status = runtime.check_settings(); !status.ok()) return complain(status);
  if (config.list("targets.order").empty() && config.list("targets.also").empty()) return kFine;
  const auto allowed = runtime.allowed();
  return allowed.ok() ? kFine : complain(allowed.status());
}

// ---- plugins ----

std::string plugins_json(const Runtime& runtime) {
  std::string out = "[";
  for (const Verdict& v : runtime.verdicts())
    out += cat(out.size() > 1 ? ",\n " : "\n ", "{\"path\": ", json_quote(v.path),
               ", \"id\": ", json_quote(v.id), ", \"version\": ", json_quote(v.version),
               ", \"loaded\": ", v.loaded(), ", \"stage\": \"", stage_name(v.stage),
               "\", \"code\": \"", code_name(v.status.code()),
               "\", \"text\": ", json_quote(v.status.message()), "}");
  return out + "\n]\n";
}

Result<int> run_plugins(const Arguments& arguments) {
  if (arguments.has("--probe"))
    return run_probe(arguments.text("--probe"), arguments.has("--json"));
  FRL_LET(const auto runtime, open_runtime(arguments, false, "loader"));
  if (arguments.has("--json")) return print(plugins_json(*runtime)), judge_targets(*runtime);
  for (const Verdict& v : runtime->verdicts())
    print_text(v.loaded() ? cat("loaded   ", v.id, " ", v.version, "  ", v.path, "\n")
                          : cat("refused  ", v.path, "\n         at ", stage_name(v.stage), ": ",
                                v.status.message(), "\n"));
  if (runtime->verdicts().empty())
    print("no plugin files were found; plugins.folders in the config names the folders\n");
  return judge_targets(*runtime);
}

// ---- devices ----

std::string devices_json(const Runtime& runtime) {
  std::string out = "[";
  for (const DeviceEntry& entry : runtime.devices()) {
    const DeviceRow& row = entry.row();
    out += cat(out.size() > 1 ? ",\n " : "\n ", "{\"id\": ", json_quote(entry.id),
               ", \"plugin\": ", json_quote(entry.driver->id()), ", \"state\": \"",
               state_name(row.state), "\", \"architecture\": ", json_quote(row.architecture),
               ", \"driver\": ", json_quote(row.driver), ", \"claims\": ", row.claims.size(),
               ", \"memory_bytes\": ", row.spaces.empty() ? 0 : row.spaces[0].total_bytes,
               ", \"reason\": ", json_quote(row.reason_text), ", \"voided\": [");
    for (size_t i = 0; i < row.voided.size(); ++i)
      out += cat(i ? ", " : "", json_quote(row.voided[i]));
    out += "]}";
  }
  return out + "\n]\n";
}

Result<int> run_devices(const Arguments& arguments) {
  FRL_LET(const auto runtime, open_runtime(arguments));
  if (arguments.has("--json")) {
    print(devices_json(*runtime));
  } else {
    for (const DeviceEntry& entry : runtime->devices()) {
      const DeviceRow& row = entry.row();
      print_text(cat(entry.id, "  ", state_name(row.state), "  ", row.architecture,
                     row.driver.empty() ? "" : cat("  driver ", row.driver), "  ",
                     row.claims.size(), " claims  by ", entry.driver->id(),
                     row.reason_text.empty() ? "" : cat("\n  ", row.reason_text), "\n"));
      for (const std::string& voided : row.voided) print_text(cat("  left out: ", voided, "\n"));
    }
    for (const std::string& text : runtime->doubles()) print_text(cat(text, "\n"));
    for (const Verdict& v : runtime->verdicts())
      if (!v.loaded()) print_text(cat("no device from ", v.path, ": ", v.status.message(), "\n"));
  }
  const auto allowed = runtime->allowed();
  return allowed.ok() ? kFine : complain(allowed.status());  // the list is the document
}

// ---- ops ----

std::string types_text(uint64_t mask) {
  std::string out;
  for (int type = FRL_F64; type <= FRL_BOOL; ++type)
    if (mask & FRL_BIT(type)) out += cat(out.empty() ? "" : " ", type_name(Type(type)));
  return out;
}

Result<int> run_ops(const Arguments& arguments) {
  FRL_LET(const auto runtime, open_runtime(arguments));
  constexpr const char* kForms[] = {"pointwise", "plain", "control", "closed", "open"};
  const bool json = arguments.has("--json");
  std::string out = json ? "[" : "";
  for (const OpRow& row : op_rows()) {
    std::string claimed;
    for (const DeviceEntry& entry : runtime->devices()) {
      bool has = find_claim(entry.row(), row.id) != nullptr;
      if (const Claim* pointwise = find_claim(entry.row(), FRL_OP_pointwise);
          pointwise && row.form == Form::pointwise)
        has |= std::binary_search(pointwise->members.begin(), pointwise->members.end(), row.id);
      if (has) claimed += cat(claimed.empty() ? "" : " ", entry.id);
    }
    if (json)
      out += cat(out.size() > 1 ? ",\n " : "\n ", "{\"id\": ", row.id, ", \"name\": \"", row.name,
                 "\", \"form\": \"", kForms[size_t(row.form)], "\", \"doc\": ", json_quote(row.doc),
                 ", \"types\": \"", types_text(row.types), "\", \"devices\": ", json_quote(claimed),
                 "}");
    else
      out += cat(
          row.name,
          std::string(row.name ? 22 - std::min<size_t>(21, std::string(row.name).size()) : 1, ' '),
          kForms[size_t(row.form)], "  [", claimed.empty() ? "-" : claimed, "]  ", row.doc, "\n");
  }
  print(json ? out + "\n]\n" : out);
  return judge_targets(*runtime);
}

// ---- config ----

// "threads.count", `plugin."org.ferrule.cpu".gemm`: a key as TOML has it.
std::string toml_key(const std::string& key) {
  constexpr std::string_view kPrefix = "plugin.";
  const size_t dot = key.rfind('.');
  if (key.rfind(kPrefix, 0) != 0 || dot < kPrefix.size()) return key;
  const std::string id = key.substr(kPrefix.size(), dot - kPrefix.size());
  const std::string option = key.substr(dot + 1);
  const bool bare = std::all_of(option.begin(), option.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-');
  });
  return cat(kPrefix, json_quote(id), ".", bare ? option : json_quote(option));
}

// 4, "text", ["a", "b"]: the same in TOML and JSON. Options of plugins have no kind: what reads as
// an integer is one.
std::string value_text(const std::string& key, const std::vector<std::string>& values) {
  const KeyRow* row = find_key(key);
  const auto quoted = [&](const std::string& value) {
    const bool bare = row ? row->kind == KeyKind::integer || row->kind == KeyKind::boolean
                          : std::to_string(parse_int(value).value_or(0)) == value;
    return bare ? value : json_quote(value);
  };
  if (row ? row->kind != KeyKind::list : values.size() == 1) return quoted(values[0]);
  std::string out;
  for (const std::string& value : values) out += cat(out.empty() ? "" : ", ", quoted(value));
  return cat("[", out, "]");
}

// The settings in force, with the options that plugins have by themselves.
std::map<std::string, Setting> all_settings(const Runtime& runtime) {
  std::map<std::string, Setting> out(runtime.config().settings().begin(),
                                     runtime.config().settings().end());
  for (const auto& driver : runtime.drivers())
    for (const Driver::Option& option : driver->options())
      out.try_emplace(cat("plugin.", driver->id(), ".", option.key),
                      Setting{{option.fallback}, "built-in"});
  return out;
}

Result<int> run_config(const Arguments& arguments) {
  if (arguments.text("ACTION", "show") != "show")
    return Status(Code::invalid_argument, cat("config: want show, got ", arguments.text("ACTION")));
  FRL_LET(const auto runtime, open_runtime(arguments));
  FRL_TRY(runtime->check_settings());
  const bool json = arguments.has("--json");
  std::string out = json ? "{" : "";
  for (const auto& [key, setting] : all_settings(*runtime)) {
    const std::string value = value_text(key, setting.values);
    if (json)
      out += cat(out.size() > 1 ? ",\n " : "\n ", json_quote(key), ": {\"value\": ", value,
                 ", \"origin\": ", json_quote(setting.origin), "}");
    else
      out += cat(toml_key(key), " = ", value,
                 arguments.has("--origin") ? cat("    # ", setting.origin) : "", "\n");
  }
  json ? print(out + "\n}\n") : print_text(out);
  return judge_targets(*runtime);
}

}  // namespace

extern const Command plugins_command, devices_command, ops_command, config_command;
const Command plugins_command = {
    "plugins",
    "every plugin file that was found, and what became of it",
    {{"--probe", "FILE",
      "load one library in this process and report on descriptor 3 (what a probe's child runs)"}},
    run_plugins};
const Command devices_command = {
    "devices", "the devices that plugins list, absent ones with the reason", {}, run_devices};
const Command ops_command = {"ops", "the op table, and who claims what", {}, run_ops};
const Command config_command = {
    "config",
    "the settings in force, as TOML: config show [--origin]",
    {{"ACTION", "show", "what to do"}, {"--origin", nullptr, "where each value comes from"}},
    run_config};

}  // namespace ferrule::cli
