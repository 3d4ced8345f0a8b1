// explain: what ran where, what was fused, what was not and why.
#include "core/base/text.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/report.h"

namespace ferrule::cli {
namespace {

struct Format {
  const char* name;
  std::string (*write)(const Session&, const Executable&);
};
constexpr Format kFormats[] = {
    {"text", explain_text}, {"json", explain_json}, {"html", explain_html}, {"dot", explain_dot}};

// How the model is placed here, against what a lock says of it.
Result<int> compare_lock(const Arguments& arguments, const ModelCall& call) {
  FRL_LET(const PlacementLock before, PlacementLock::read(arguments.text("--lock-diff")));
  FRL_LET(const auto compiled, call.session->compile(call.inputs));
  PlacementLock after;
  add_placements(after, *compiled->executable, call.session->context().targets);
  const auto lines = lock_differences(before, after);
  std::string text, json = "{\"differences\": [";
  for (const std::string& line : lines) {
    text += line + "\n";
    json += cat(&line == &lines[0] ? "\n " : ",\n ", json_quote(line));
  }
  arguments.has("--json") ? print(json + "\n]}\n") : print_text(text);
  return lines.empty() ? kFine : kBadResult;
}

Result<int> run(const Arguments& arguments) {
  const std::string wanted = arguments.text("--format", arguments.has("--json") ? "json" : "text");
  const Format* format = nullptr;
  for (const Format& row : kFormats)
    if (wanted == row.name) format = &row;
  if (!format)
    return Status(Code::invalid_argument,
                  cat("--format: want text, json, html or dot, got ", wanted));
  if (arguments.has("--json") && wanted != "json")
    return Status(Code::invalid_argument, cat("--format: want json beside --json, got ", wanted));
  Arguments with_inputs = arguments;
  if (!with_inputs.has("--random-inputs")) with_inputs.add("--random-inputs", "0");
  // What is compared with a lock is the free choice, unless another lock is named beside it.
  const bool compare = arguments.has("--lock-diff");
  if (compare && arguments.has("--format"))
    return Status(Code::invalid_argument, "--lock-diff: want it without --format, got both");
  if (compare && !arguments.has("--lock")) {
    with_inputs.add("--set", "placement.lock=");
    with_inputs.add("--set", "placement.lock_write=false");
  }
  FRL_LET(const ModelCall call, open_call(with_inputs));
  if (compare) return compare_lock(arguments, call);
  FRL_LET(const auto compiled, call.session->compile(call.inputs));
  const std::string text = format->write(*call.session, *compiled->executable);
  format->write == explain_text ? print_text(text) : print(text);
  return kFine;
}

std::vector<OptionRow> options() {
  std::vector<OptionRow> out(input_options().begin(), input_options().end());
  out.push_back({"--format", "text|json|html|dot", "how it is written"});
  out.push_back({"--lock-diff", "FILE", "say only where the placement differs from a lock"});
  return out;
}

}  // namespace

extern const Command explain_command = {"explain", "say what would run where, and why", options(),
                                        run};

}  // namespace ferrule::cli
