// Text cases of passes: cases/*.ir. Each file holds cases of the form
//
//   case NAME
//   pass PASS
//   claims OP OP ...            what the device claims
//   limits nodes=N inputs=N     optional
//   gate MODE                   optional
//   reason TEXT                 optional: a rejected candidate says so
//   before
//     graph ...
//   after                       or "same": nothing changes
//     graph ...
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/text.h"
#include "tests/pass/device.h"

namespace ferrule {
namespace {

struct IrCase {
  std::string file, name, pass, reason, before, after;
  std::vector<std::string> claims;
  RegionLimits limits;
  GateMode gate = GateMode::plugin;
};

void add_line(IrCase& c, const std::string& line, std::string*& body) {
  const auto words = split(std::string(trim(line)), ' ');
  if (line.empty() || line[0] == '#') return;
  if (line[0] == ' ' && body) {
    *body += line + "\n";
  } else if (words[0] == "before") {
    body = &c.before;
  } else if (words[0] == "after") {
    body = &c.after;
  } else if (words[0] == "same") {
    c.after = c.before;
  } else if (words[0] == "pass") {
    c.pass = words[1];
  } else if (words[0] == "claims") {
    c.claims.assign(words.begin() + 1, words.end());
  } else if (words[0] == "reason") {
    c.reason = line.substr(7);
  } else if (words[0] == "gate") {
    c.gate = *parse_gate_mode(words[1]);
  } else if (words[0] == "limits") {
    for (size_t i = 1; i < words.size(); ++i) {
      const auto n = uint32_t(*parse_int(words[i].substr(words[i].find('=') + 1)));
      if (words[i][0] == 'n') c.limits.nodes = n;
      if (words[i][0] == 'i') c.limits.inputs = n;
      if (words[i][0] == 'o') c.limits.outputs = n;
    }
  } else {
    FAIL() << c.file << ": unknown line " << line;
  }
}

std::vector<IrCase> all_cases() {
  std::vector<IrCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(FRL_TEST_DATA "/pass/cases")) {
    if (entry.path().extension() != ".ir") continue;
    std::ifstream file(entry.path());
    std::string* body = nullptr;
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("case ", 0) == 0) {
        cases.push_back({entry.path().stem().string(), line.substr(5)});
        body = nullptr;
      } else if (!cases.empty()) {
        add_line(cases.back(), line, body);
      }
    }
  }
  return cases;
}

// The text form with values numbered in the order in which it names them.
// A parameter that is too large to be written out is no text to compare.
std::string renumbered(const Graph& graph) {
  const auto again = parse_graph(to_text(graph));
  EXPECT_TRUE(again.ok()) << again.status().message();
  return again.ok() ? to_text(*again) : std::string();
}

std::string normal(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  if (!graph.ok()) return {};
  graph->compact();
  return renumbered(*graph);
}

// What some roundings of values about 1 may differ by.
double tolerance(Type type) { return size_bytes(type) == 2 ? 5e-3 : 1e-5; }

class IrTest : public testing::TestWithParam<IrCase> {};

TEST_P(IrTest, Case) {
  const IrCase& c = GetParam();
  auto graph = parse_graph(c.before);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  graph->compact();
  for (size_t i = 0; i < graph->n_nodes(); ++i) graph->node(NodeId(i)).device = 0;
  const auto inputs = [&] {
    std::vector<Tensor> out;
    for (ValueId id : graph->inputs()) {
      Tensor tensor(graph->type(id));
      for (int64_t i = 0; i < tensor.n_elements(); ++i)
        tensor.set_f64(i, double((i * 7 + int64_t(out.size()) * 3) % 11) / 4 - 1);
      out.push_back(tensor);
    }
    return out;
  }();
  const auto before = evaluate(*graph, inputs);
  ASSERT_TRUE(before.ok()) << before.status().message();
  FuseOptions options;
  options.limits = c.limits, options.gate.mode = c.gate;
  for (const Pass* pass : all_passes())
    if (pass->name != c.pass) options.passes_off.insert(pass->name);
  const DeviceRow device = test::device_claiming(c.claims);
  FuseReport canonical;
  ASSERT_TRUE(canonicalise(*graph, options, canonical, nullptr, &device).ok());
  auto report = fuse(*graph, device, 0, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(renumbered(*graph), normal(c.after));
  const auto after = evaluate(*graph, inputs);
  ASSERT_TRUE(after.ok()) << after.status().message();
  for (size_t i = 0; i < after->size(); ++i)
    for (int64_t k = 0; k < (graph->outputs()[i].absent ? 0 : (*after)[i].n_elements()); ++k)
      EXPECT_NEAR((*after)[i].at_f64(k), (*before)[i].at_f64(k), tolerance((*after)[i].element()));
  if (c.reason.empty()) return;
  std::string reasons;
  for (const FuseReport& part : {canonical, *report})
    for (const Candidate& candidate : part.candidates) reasons += candidate.reason + "\n";
  EXPECT_THAT(reasons, testing::HasSubstr(c.reason));
}

std::string case_name(const testing::TestParamInfo<IrCase>& info) {
  std::string name = info.param.file + "_" + info.param.name;
  for (char& ch : name)
    if (!std::isalnum(ch)) ch = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, IrTest, testing::ValuesIn(all_cases()), case_name);

TEST(IrFiles, Exist) { EXPECT_GE(all_cases().size(), 25u); }

}  // namespace
}  // namespace ferrule
