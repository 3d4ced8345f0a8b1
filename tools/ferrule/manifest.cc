// The only file that reads JSON.
#include "tools/ferrule/manifest.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/bytes.h"
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
  FRL_LET(const MappedFile mapped, MappedFile::open(file.string()));
  const auto* begin = reinterpret_cast<const char*>(mapped.bytes().data());
  const std::string_view text(begin, mapped.bytes().size());
  try {
    Json json = Json::parse(text.begin(), text.end());
    if (json.is_object()) return json;
    return wrong(file, cat("want a JSON object, got ", json.type_name()));
  } catch (const Json::exception& error) {
    const auto* parse = dynamic_cast<const Json::parse_error*>(&error);
    const auto until = text.substr(0, parse ? parse->byte : 0);
    return wrong(file, cat("want JSON, got a syntax error in line ",
                           1 + std::count(until.begin(), until.end(), '\n')));
  }
}

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

// "none", or what kind of value it is.
const char* kind_of(const Json& json, const char* key) {
  return json.contains(key) ? json[key].type_name() : "none";
}

// A value that is missing is the fallback; one of another kind is a mistake.
Result<double> tolerance_of(const Json& json, const char* key, double fallback) {
  if (!json.contains(key)) return fallback;
  if (json[key].is_number())
    if (const double value = json[key].get<double>(); std::isfinite(value) && value >= 0)
      return value;
  return Status(Code::invalid_argument,
                cat(key, ": want a finite number of 0 or more, got ", json[key].dump()));
}

Result<std::vector<int64_t>> extents_of(const Json& json, const char* key) {
  std::vector<int64_t> out;
  if (!json.contains(key) || !json[key].is_array())
    return Status(Code::invalid_argument,
                  cat(key, ": want a list of extents, got ", kind_of(json, key)));
  for (const Json& extent : json[key]) {
    if (!extent.is_number_integer())
      return Status(Code::invalid_argument, cat(key, ": want extents, got ", extent.dump()));
    out.push_back(extent.get<int64_t>());
  }
  return out;
}

Result<CaseTensor> tensor_of(const Json& json, const fs::path& folder) {
  if (!json.is_object() || text_of(json, "file").empty())
    return Status(Code::invalid_argument, "want a name and a file, got no file");
  CaseTensor out{text_of(json, "name"), (folder / text_of(json, "file")).string()};
  FRL_LET(out.rtol, tolerance_of(json, "rtol", 1e-3));
  FRL_LET(out.atol, tolerance_of(json, "atol", 1e-4));
  return out;
}

Status read_manifest(const fs::path& file, Case& out) {
  FRL_LET(const Json json, read_json(file));
  const fs::path folder = file.parent_path();
  if (text_of(json, "model").empty()) return wrong(file, "want a model, got none");
  out.model = (folder / text_of(json, "model")).lexically_normal().string();
  for (const char* side : {"inputs", "outputs"}) {
    if (!json.contains(side) || !json[side].is_array())
      return wrong(file, cat("want a list of ", side, ", got ", kind_of(json, side)));
    for (const Json& tensor : json[side]) {
      auto read = tensor_of(tensor, folder);
      if (!read.ok()) return wrong(file, cat(side, ": ", read.status().message()));
      auto& list = side[0] == 'i' ? out.inputs : out.outputs;
      for (const CaseTensor& other : list)
        if (!read->name.empty() && other.name == read->name)
          return wrong(file, cat(side, ": want each name once, got ", read->name, " twice"));
      list.push_back(*read);
    }
  }
  if (out.outputs.empty()) return wrong(file, "want at least one expected output, got none");
  return {};
}

Status read_fixed(const Json& json, Case& out) {
  for (const auto& [name, value] : json.items()) {
    Case::Fixed fixed{name, text_of(value, "dtype")};
    if (fixed.type != "int64" && fixed.type != "float32")
      return Status(Code::invalid_argument,
                    cat(name, ": dtype: want int64 or float32, got ", json_quote(fixed.type)));
    FRL_LET(fixed.shape, extents_of(value, "shape"));
    if (!value.contains("value") || !value["value"].is_number())
      return Status(Code::invalid_argument,
                    cat(name, ": value: want a number, got ", kind_of(value, "value")));
    fixed.value = value["value"].get<double>();
    out.fixed.push_back(std::move(fixed));
  }
  return {};
}

Status read_stream_parts(const Json& json, const fs::path& folder, Case& out) {
  for (const char* key : {"chunks", "state", "output"})
    if (!json.contains(key) || !json[key].is_object())
      return Status(Code::invalid_argument,
                    cat("want an object ", key, ", got ", kind_of(json, key)));
  const Json &chunks = json["chunks"], &state = json["state"];
  out.model = (folder / text_of(json, "model")).lexically_normal().string();
  out.chunks = {text_of(chunks, "input"), (folder / text_of(chunks, "file")).string()};
  FRL_LET(out.chunk_shape, extents_of(chunks, "shape"));
  out.state_input = text_of(state, "input"), out.state_output = text_of(state, "output");
  FRL_LET(const CaseTensor output, tensor_of(json["output"], folder));
  out.outputs.push_back(output);
  out.final_state = {out.state_output, (folder / text_of(state, "final")).string(), output.rtol,
                     output.atol};
  if (text_of(state, "initial") != "zeros")
    return Status(Code::invalid_argument,
                  cat("state: want initial zeros, got ", json_quote(text_of(state, "initial"))));
  if (!json.contains("fixed")) return {};
  if (json["fixed"].is_object()) return read_fixed(json["fixed"], out);
  return Status(Code::invalid_argument, cat("fixed: want an object, got ", kind_of(json, "fixed")));
}

Status read_stream(const fs::path& file, Case& out) {
  FRL_LET(const Json json, read_json(file));
  return read_stream_parts(json, file.parent_path(), out).within(file.string());
}

constexpr std::string_view kDataPrefix = "test_data_set_";

bool is_data(const fs::path& folder) {
  return folder.filename().string().rfind(kDataPrefix, 0) == 0;
}

Status read_onnx_data(const fs::path& data, Case& out) {
  std::error_code code;
  out.model = (data.parent_path() / "model.onnx").string();
  const auto collect = [&](const char* prefix, std::vector<CaseTensor>& tensors) {
    for (int i = 0;; ++i) {
      const fs::path file = data / cat(prefix, i, ".pb");
      if (!fs::exists(file, code)) return;
      tensors.push_back({"", file.string(), kNodeRtol, kNodeAtol});
    }
  };
  collect("input_", out.inputs);
  collect("output_", out.outputs);
  if (!fs::exists(out.model, code)) return wrong(data, "want model.onnx beside it, got none");
  return out.outputs.empty() ? wrong(data, "want output_0.pb, got none") : Status();
}

class Walk {
 public:
  explicit Walk(std::vector<Found>& out) : out_(out) {}

  void folder(const fs::path& folder) {
    std::error_code code;
    // A link may lead back to a folder above.
    if (const fs::path real = fs::canonical(folder, code);
        code || !seen_.insert(real.string()).second)
      return code ? trouble(folder, code) : void();
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
      entries.push_back(it->path());
    if (code) return trouble(folder, code);
    if (is_data(folder)) return add(folder, folder, read_onnx_data);
    std::sort(entries.begin(), entries.end());
    if (fs::exists(folder / "manifest.json", code) && !is_list(folder / "manifest.json"))
      add(folder, folder / "manifest.json", read_manifest);
    if (fs::exists(folder / "stream.json", code)) add(folder, folder / "stream.json", read_stream);
    for (const fs::path& entry : entries) {
      const bool is_folder = fs::is_directory(entry, code);
      if (code && code != std::errc::no_such_file_or_directory) trouble(entry, code);
      if (is_folder) this->folder(entry);
    }
  }

 private:
  void add(const fs::path& name, const fs::path& file, Status (*read)(const fs::path&, Case&)) {
    Found& found = out_.emplace_back();
    found.a_case.name = name.string();
    found.problem = read(file, found.a_case);
  }
  void trouble(const fs::path& path, const std::error_code& code) {
    Found& found = out_.emplace_back();
    found.a_case.name = path.string();
    found.problem = Status(Code::not_found, cat("folder: cannot be read: ", code.message()));
  }
  // A folder of malformed files has a manifest that lists refusals, not a case.
  static bool is_list(const fs::path& file) {
    const auto mapped = MappedFile::open(file.string());
    if (!mapped.ok()) return false;
    const auto* begin = reinterpret_cast<const char*>(mapped->bytes().data());
    return trim(std::string_view(begin, mapped->bytes().size())).substr(0, 1) == "[";
  }

  std::vector<Found>& out_;
  std::set<std::string> seen_;
};

}  // namespace

std::string plain_path(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

Result<std::vector<Found>> find_cases(const std::vector<std::string>& folders) {
  std::vector<Found> out;
  Walk walk(out);
  for (const std::string& folder : folders) {
    std::error_code code;
    if (!fs::is_directory(folder, code))
      return Status(Code::not_found,
                    cat(folder, ": want a folder, got ", code ? code.message() : "a file"));
    const size_t before = out.size();
    walk.folder(plain_path(folder));
    if (out.size() == before)
      return Status(Code::not_found,
                    cat(folder,
                        ": want cases (manifest.json, stream.json or test_data_set_* beside "
                        "model.onnx) that no folder before it has, got none"));
  }
  return out;
}

}  // namespace ferrule::cli
