// run: a model once, and what came out.
#include <cstdio>
#include <filesystem>

#include "core/base/text.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/npy.h"
#include "tools/ferrule/report.h"

namespace ferrule::cli {
namespace {

std::string file_name(const std::string& output) {
  std::string out = output;
  for (char& c : out)
    if (c == '/' || c == ':' || c == '\\') c = '_';
  return out + ".npy";
}

std::string outputs_json(const std::vector<NamedTensor>& outputs) {
  std::string out = "{\"outputs\": [";
  for (const NamedTensor& output : outputs) {
    out += cat(&output == outputs.data() ? "\n " : ",\n ", "{\"name\": ", json_quote(output.name),
               ", \"type\": \"", to_string(output.tensor.type()), "\", \"values\": [");
    const int64_t n = std::min<int64_t>(output.tensor.n_elements(), 1000);
    for (int64_t i = 0; i < n; ++i) {
      const double x = output.tensor.at_f64(i);
      const std::string number = is_float(output.tensor.element())
                                     ? number_text(x)
                                     : std::to_string(output.tensor.at_i64(i));
      out += cat(i ? "," : "", x - x == 0 ? number : json_quote(number));  // JSON has no infinities
    }
    out += "]}";
  }
  return out + "\n]}\n";
}

int run(const Arguments& arguments) {
  Progress progress;
  progress.show("loading and compiling");
  auto call = open_call(arguments);
  if (!call.ok()) return fail(call.status());
  Stream stream(call->session);
  auto outputs = stream.run(call->inputs);
  progress.show("");
  if (!outputs.ok()) return fail(outputs.status());
  const std::string folder = arguments.text("--output-dir");
  if (!folder.empty()) {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    for (const NamedTensor& output : *outputs)
      if (Status s = write_npy(cat(folder, "/", file_name(output.name)), output.tensor); !s.ok())
        return fail(s);
  }
  if (arguments.has("--json")) {
    const std::string text = outputs_json(*outputs);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return kFine;
  }
  for (const NamedTensor& output : *outputs)
    std::printf("%s  %s\n", output.name.c_str(), summary(output.tensor).c_str());
  if (arguments.has("--explain")) {
    const auto compiled = call->session->compile(call->inputs);
    const std::string text = explain_text(*call->session, *(*compiled)->executable);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return kFine;
}

std::vector<OptionRow> options() {
  std::vector<OptionRow> out(input_options().begin(), input_options().end());
  out.push_back({"--output-dir", "FOLDER", "where the outputs are written, one .npy file each"});
  out.push_back({"--explain", nullptr, "also print what ran where and what was fused"});
  return out;
}

}  // namespace

extern const Command run_command;
const Command run_command = {"run", "run a model once", options(), run};

}  // namespace ferrule::cli
