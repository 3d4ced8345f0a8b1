#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "tests/property/grow.h"

namespace ferrule::property {
namespace {

struct Written {
  std::string name, pass, text;
  std::vector<std::string> claims;
};

std::vector<Written> read_cases() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(FRL_TEST_DATA "/pass/cases"))
    if (entry.path().extension() == ".ir") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Written> out;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    bool before = false;
    for (std::string line; std::getline(file, line);) {
      const bool inside = !line.empty() && line[0] == ' ';
      if (line.rfind("case ", 0) == 0)
        out.push_back(
            {cat(std::filesystem::path(path).stem().string(), "/", line.substr(5)), {}, {}, {}});
      if (line.rfind("pass ", 0) == 0) out.back().pass = line.substr(5);
      if (line.rfind("claims ", 0) == 0) out.back().claims = split(line.substr(7), ' ');
      if (!line.empty() && !inside) before = line == "before";
      if (before && inside) out.back().text += line + "\n";
    }
  }
  return out;
}

bool is_grown_from(const Graph& graph) {
  for (const Value& value : graph.values())
    if (value.role != Role::computed && !value.type.shape.is_exact()) return false;
  for (const Node& node : graph.nodes())
    if (!find_op(node.op)) return false;
  return true;
}

}  // namespace

const std::vector<Plant>& plants() {
  static const std::vector<Plant> kAll = [] {
    std::vector<Plant> out;
    for (Written& written : read_cases()) {
      auto graph = parse_graph(written.text);
      if (!graph.ok() || !is_grown_from(*graph)) continue;
      out.push_back({std::move(written.name), std::move(written.pass), std::move(written.claims),
                     std::move(*graph)});
    }
    return out;
  }();
  return kAll;
}

}  // namespace ferrule::property
