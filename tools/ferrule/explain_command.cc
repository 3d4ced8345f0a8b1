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
  FRL_LET(const ModelCall call, open_call(with_inputs));
  FRL_LET(const auto compiled, call.session->compile(call.inputs));
  const std::string text = format->write(*call.session, *compiled->executable);
  format->write == explain_text ? print_text(text) : print(text);
  return kFine;
}

std::vector<OptionRow> options() {
  std::vector<OptionRow> out(input_options().begin(), input_options().end());
  out.push_back({"--format", "text|json|html|dot", "how it is written"});
  return out;
}

}  // namespace

extern const Command explain_command;
const Command explain_command = {"explain", "say what would run where, and why", options(), run};

}  // namespace ferrule::cli
