// run: a model once, and what came out.
#include <filesystem>
#include <set>

#include "core/base/text.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/npy.h"
#include "tools/ferrule/report.h"

namespace ferrule::cli {
namespace {

// A file for each output: what a file name cannot hold becomes _, and a name that is taken gets a
// number behind it.
std::vector<std::string> file_names(const std::vector<NamedTensor>& outputs) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const NamedTensor& output : outputs) {
    std::string stem = output.name;
    for (char& c : stem)
      if (c == '/' || c == ':' || c == '\\' || uint8_t(c) < 0x20) c = '_';
    std::string name = stem;
    for (int i = 2; !taken.insert(name).second; ++i) name = cat(stem, "_", i);
    out.push_back(name + ".npy");
  }
  return out;
}

// The paths, or none where no folder is wanted.
Result<std::vector<std::string>> write_outputs(const std::string& folder,
                                               const std::vector<NamedTensor>& outputs) {
  if (folder.empty()) return std::vector<std::string>(outputs.size());
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code && !std::filesystem::is_directory(folder))
    return Status(Code::not_found,
                  cat("--output-dir: ", folder, ": cannot be made: ", code.message()));
  std::vector<std::string> paths = file_names(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    paths[i] = cat(folder, "/", paths[i]);
    FRL_TRY(write_npy(paths[i], outputs[i].tensor));
  }
  return paths;
}

std::string outputs_json(const std::vector<NamedTensor>& outputs,
                         const std::vector<std::string>& files) {
  std::string out = "{\"outputs\": [";
  for (size_t k = 0; k < outputs.size(); ++k) {
    const NamedTensor& output = outputs[k];
    out +=
        cat(k ? ",\n " : "\n ", "{\"name\": ", json_quote(output.name), ", \"type\": \"",
            to_string(output.tensor.type()), "\", ", output.absent ? "\"absent\": true, " : "",
            files[k].empty() ? "" : cat("\"file\": ", json_quote(files[k]), ", "), "\"values\": [");
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
  return out + "\n]";
}

Result<int> run(const Arguments& arguments) {
  Progress progress;
  progress.show("loading and compiling");
  FRL_LET(const ModelCall call, open_call(arguments));
  Stream stream(call.session);
  FRL_LET(const auto outputs, stream.run(call.inputs));
  progress.show("");
  FRL_LET(const auto files, write_outputs(arguments.text("--output-dir"), outputs));
  FRL_LET(const auto compiled, call.session->compile(call.inputs));
  const bool explain = arguments.has("--explain");
  if (arguments.has("--json")) {
    print(outputs_json(outputs, files));
    if (explain) print(cat(",\n\"explain\": ", explain_json(*call.session, *compiled->executable)));
    print("}\n");
    return kFine;
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    print_text(cat(printable(outputs[i].name, false), "  ",
                   outputs[i].absent ? "absent" : summary(outputs[i].tensor),
                   files[i].empty() ? "" : cat("  in ", files[i]), "\n"));
  if (explain) print_text(explain_text(*call.session, *compiled->executable));
  return kFine;
}

std::vector<OptionRow> options() {
  std::vector<OptionRow> out(input_options().begin(), input_options().end());
  out.push_back({"--output-dir", "FOLDER", "where the outputs are written, one .npy file each"});
  out.push_back({"--explain", nullptr, "also print what ran where and what was fused"});
  return out;
}

}  // namespace

extern const Command run_command = {"run", "run a model once", options(), run};

}  // namespace ferrule::cli
