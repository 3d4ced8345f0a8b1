// The only file that reads JSON.
#include "tools/ferrule/manifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Node tests of ONNX are written for float32; these are its own runner's bounds.
constexpr double kNodeRtol = 1e-3, kNodeAtol = 1e-7;

Status wrong(const fs::path& file, std::string text) {
  return Status(Code::invalid_argument, cat(file.string(), ": ", text));
}

Result<Json> read_json(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return Status(Code::not_found, cat(file.string(), ": cannot be read"));
  Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return wrong(file, "want a JSON object");
  return json;
}

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}
double number_of(const Json& json, const char* key, double fallback) {
  return json.contains(key) && json[key].is_number() ? json[key].get<double>() : fallback;
}
std::vector<int64_t> extents_of(const Json& json, const char* key) {
  std::vector<int64_t> out;
  if (json.contains(key) && json[key].is_array())
    for (const Json& extent : json[key])
      out.push_back(extent.is_number_integer() ? extent.get<int64_t>() : 0);
  return out;
}

CaseTensor tensor_of(const Json& json, const fs::path& folder) {
  return {text_of(json, "name"), (folder / text_of(json, "file")).string(),
          number_of(json, "rtol", 1e-3), number_of(json, "atol", 1e-4)};
}

Status read_manifest(const fs::path& file, Case& out) {
  FRL_LET(const Json json, read_json(file));
  const fs::path folder = file.parent_path();
  if (text_of(json, "model").empty()) return wrong(file, "want a model");
  out.model = (folder / text_of(json, "model")).lexically_normal().string();
  for (const char* side : {"inputs", "outputs"}) {
    if (!json.contains(side) || !json[side].is_array())
      return wrong(file, cat("want a list of ", side));
    for (const Json& tensor : json[side]) {
      if (!tensor.is_object() || text_of(tensor, "file").empty())
        return wrong(file, cat(side, ": want a name and a file"));
      (side[0] == 'i' ? out.inputs : out.outputs).push_back(tensor_of(tensor, folder));
    }
  }
  if (out.outputs.empty()) return wrong(file, "want at least one expected output");
  return {};
}

Status read_stream(const fs::path& file, Case& out) {
  FRL_LET(const Json json, read_json(file));
  const fs::path folder = file.parent_path();
  for (const char* key : {"chunks", "state", "output"})
    if (!json.contains(key) || !json[key].is_object()) return wrong(file, cat("want ", key));
  const Json &chunks = json["chunks"], &state = json["state"];
  out.model = (folder / text_of(json, "model")).lexically_normal().string();
  out.chunks = {text_of(chunks, "input"), (folder / text_of(chunks, "file")).string()};
  out.chunk_shape = extents_of(chunks, "shape");
  out.state_input = text_of(state, "input"), out.state_output = text_of(state, "output");
  out.outputs.push_back(tensor_of(json["output"], folder));
  out.final_state = {out.state_output, (folder / text_of(state, "final")).string(),
                     out.outputs[0].rtol, out.outputs[0].atol};
  if (text_of(state, "initial") != "zeros") return wrong(file, "state: want initial zeros");
  if (json.contains("fixed") && json["fixed"].is_object())
    for (const auto& [name, value] : json["fixed"].items()) {
      const std::string type = text_of(value, "dtype");
      out.fixed.push_back({name, type, extents_of(value, "shape"), number_of(value, "value", 0)});
    }
  return {};
}

Status read_onnx_data(const fs::path& folder, const fs::path& data, Case& out) {
  out.model = (folder / "model.onnx").string();
  const auto collect = [&](const char* prefix, std::vector<CaseTensor>& tensors) {
    for (int i = 0;; ++i) {
      const fs::path file = data / cat(prefix, i, ".pb");
      if (!fs::exists(file)) return;
      tensors.push_back({"", file.string(), kNodeRtol, kNodeAtol});
    }
  };
  collect("input_", out.inputs);
  collect("output_", out.outputs);
  return out.outputs.empty() ? wrong(data, "want output_0.pb") : Status();
}

void walk(const fs::path& folder, std::vector<Found>& out) {
  std::error_code code;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end());
  const auto add = [&](const fs::path& name, auto&& read) {
    Found& found = out.emplace_back();
    found.a_case.name = name.string();
    found.problem = read(found.a_case);
  };
  // A folder of malformed files has a manifest that lists refusals, not a case.
  std::ifstream peek(folder / "manifest.json");
  const bool list = peek && (peek >> std::ws).peek() == '[';
  if (fs::exists(folder / "manifest.json", code) && !list)
    add(folder, [&](Case& c) { return read_manifest(folder / "manifest.json", c); });
  if (fs::exists(folder / "stream.json", code))
    add(folder, [&](Case& c) { return read_stream(folder / "stream.json", c); });
  const bool has_model = fs::exists(folder / "model.onnx", code);
  for (const fs::path& entry : entries) {
    if (!fs::is_directory(entry, code)) continue;
    if (has_model && entry.filename().string().rfind("test_data_set_", 0) == 0)
      add(folder / entry.filename(), [&](Case& c) { return read_onnx_data(folder, entry, c); });
    else
      walk(entry, out);
  }
}

}  // namespace

std::vector<Found> find_cases(const std::string& folder, double rtol, double atol) {
  std::vector<Found> out;
  walk(folder, out);
  for (Found& found : out)
    for (CaseTensor& tensor : found.a_case.outputs) {
      if (rtol >= 0) tensor.rtol = rtol;
      if (atol >= 0) tensor.atol = atol;
    }
  return out;
}

}  // namespace ferrule::cli
