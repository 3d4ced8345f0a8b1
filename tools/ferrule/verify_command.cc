// verify: every case below some folders, a line each.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "tools/ferrule/compare.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/manifest.h"
#include "tools/ferrule/npy.h"

namespace ferrule::cli {
namespace {

struct Outcome {
  bool passed = false;
  std::string text;
  size_t n_kernels = 0;  // that ran on a device
};

Result<Tensor> read_tensor(const std::string& file) {
  const bool pb = file.size() > 3 && file.compare(file.size() - 3, 3, ".pb") == 0;
  return pb ? load_tensor(file) : read_npy(file);
}

// Kernels of the whole executable, bodies included.
size_t count_kernels(const Executable& executable) {
  size_t n = 0;
  for (size_t i = 0; i < executable.graph().n_nodes(); ++i) {
    n += executable.kernel(NodeId(i)) != nullptr;
    for (const auto& body : executable.bodies(NodeId(i))) n += count_kernels(*body);
  }
  return n;
}

class Verifying {
 public:
  explicit Verifying(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

  Outcome run(const Case& c) {
    Outcome outcome;
    Status status = c.is_stream() ? stream(c, outcome) : single(c, outcome);
    if (!status.ok()) outcome = {false, status.message(), outcome.n_kernels};
    return outcome;
  }

 private:
  Result<std::shared_ptr<Session>> session_for(const std::string& path, SessionOptions options) {
    FRL_LET(Model model, Model::load(path));
    return Session::open(runtime_, std::move(model), std::move(options));
  }

  Status judge(const std::string& name, const Tensor& got, const CaseTensor& want,
               Outcome& outcome) {
    FRL_LET(const Tensor expected, read_tensor(want.file));
    const Comparison comparison = compare(got, expected, want.rtol, want.atol);
    if (!comparison.equal && outcome.passed) outcome.text.clear();
    if (!comparison.equal) outcome.passed = false;
    if (!comparison.equal || outcome.text.empty())
      outcome.text += cat(outcome.text.empty() ? "" : "; ", name, " ", comparison.text);
    return {};
  }

  Status single(const Case& c, Outcome& outcome) {
    SessionOptions options;
    for (const CaseTensor& want : c.outputs)
      if (!want.name.empty()) options.outputs.push_back(want.name);
    FRL_LET(const auto session, session_for(c.model, std::move(options)));
    NamedTensors inputs;
    size_t position = 0;
    for (const CaseTensor& input : c.inputs) {
      const auto& declared = session->model().inputs();
      while (input.name.empty() && position < declared.size() && declared[position].has_default &&
             c.inputs.size() < declared.size())
        ++position;
      if (input.name.empty() && position >= declared.size())
        return Status(Code::invalid_argument, "case: it has more inputs than the model");
      const std::string name = input.name.empty() ? declared[position++].name : input.name;
      FRL_LET(inputs[name], read_tensor(input.file));
    }
    FRL_LET(const auto outputs, session->run(inputs));
    FRL_LET(const auto compiled, session->compile(inputs));
    outcome.passed = true, outcome.n_kernels = count_kernels(*compiled->executable);
    if (outputs.size() < c.outputs.size())
      return Status(Code::invalid_argument, "case: it expects more outputs than the model gives");
    for (size_t i = 0; i < c.outputs.size(); ++i)
      FRL_TRY(judge(outputs[i].name, outputs[i].tensor, c.outputs[i], outcome));
    return {};
  }

  Status stream(const Case& c, Outcome& outcome) {
    FRL_LET(const auto session, session_for(c.model, {{{c.state_input, c.state_output}}, {}}));
    Stream stream(session);
    FRL_LET(const Tensor chunks, read_npy(c.chunks.file));
    FRL_LET(const Shape shape, Shape::checked(c.chunk_shape));
    const TensorType chunk{chunks.element(), shape};
    const auto size = size_t(chunk.size_bytes());
    if (size == 0 || chunks.bytes().size() % size)
      return Status(Code::invalid_argument, "stream: want whole chunks");
    FRL_LET(const Tensor expected, read_npy(c.outputs[0].file));
    Tensor all(expected.type());
    NamedTensors inputs;
    for (const Case::Fixed& fixed : c.fixed) {
      FRL_LET(const Shape fixed_shape, Shape::checked(fixed.shape));
      Tensor tensor(TensorType{fixed.type == "int64" ? Type::i64 : Type::f32, fixed_shape});
      for (int64_t i = 0; i < tensor.n_elements(); ++i) tensor.set_f64(i, fixed.value);
      inputs[fixed.name] = tensor;
    }
    Tensor state;
    size_t at = 0;
    for (size_t i = 0; i < chunks.bytes().size() / size; ++i) {
      inputs[c.chunks.name] = Tensor(chunk, chunks.bytes().subspan(i * size, size), chunks.owner());
      FRL_LET(const auto outputs, stream.run(inputs));
      for (const NamedTensor& output : outputs) {
        if (output.name == c.state_output) state = output.tensor;
        if (output.name != c.outputs[0].name) continue;
        const Bytes bytes = output.tensor.bytes();
        if (at + bytes.size() > all.bytes().size())
          return Status(Code::invalid_argument, "stream: it gives more than is expected");
        std::memcpy(all.mutable_data() + at, bytes.data(), bytes.size());
        at += bytes.size();
      }
    }
    if (at != all.bytes().size())
      return Status(Code::invalid_argument, "stream: it gives less than is expected");
    outcome.passed = true;
    FRL_LET(const auto compiled, session->compile(inputs));
    outcome.n_kernels = count_kernels(*compiled->executable);
    FRL_TRY(judge(c.outputs[0].name, all, c.outputs[0], outcome));
    return judge("final state", state, c.final_state, outcome);
  }

  std::shared_ptr<Runtime> runtime_;
};

// Cases that are known not to pass, with the reason: "NAME REASON" a line.
Result<std::map<std::string, std::string>> read_known(const std::string& path) {
  std::map<std::string, std::string> known;
  if (path.empty()) return known;
  std::ifstream file(path);
  if (!file) return Status(Code::not_found, cat("--known: ", path, ": cannot be read"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    if (space == std::string::npos)
      return Status(Code::invalid_argument, cat("--known: want NAME REASON, got ", line));
    known[line.substr(0, space)] = line.substr(space + 1);
  }
  return known;
}

// The folder's name, without test_data_set_0.
std::string short_name(const Case& c) {
  std::filesystem::path path = c.name;
  if (path.filename().string().rfind("test_data_set_", 0) == 0) path = path.parent_path();
  return path.filename().string();
}

// A listed case that fails is as expected; one that passes has to leave the list.
void hold_against(const std::map<std::string, std::string>& known, const Case& c, Outcome& outcome,
                  bool* expected) {
  const auto listed = known.find(short_name(c));
  *expected = listed != known.end() && !outcome.passed;
  if (listed != known.end() && outcome.passed)
    outcome = {false, "it passes, but is listed as failing: " + listed->second, outcome.n_kernels};
}

void print_case(const Case& c, const Outcome& outcome, double ms, bool json) {
  if (json)
    std::printf(
        "{\"case\": %s, \"passed\": %s, \"stream\": %s, \"kernels\": %zu, \"ms\": %.3f, \"text\": "
        "%s}\n",
        json_quote(c.name).c_str(), outcome.passed ? "true" : "false",
        c.is_stream() ? "true" : "false", outcome.n_kernels, ms, json_quote(outcome.text).c_str());
  else
    std::printf("%s  %s%s  %.0f ms  %s\n", outcome.passed ? "passed" : "FAILED", c.name.c_str(),
                c.is_stream() ? " (stream)" : "", ms, outcome.text.c_str());
  std::fflush(stdout);
}

int run(const Arguments& arguments) {
  const auto rtol = arguments.number("--rtol", -1), atol = arguments.number("--atol", -1);
  if (!rtol.ok()) return fail(rtol.status());
  if (!atol.ok()) return fail(atol.status());
  auto runtime = open_runtime(arguments, true);
  if (!runtime.ok()) return fail(runtime.status());
  if (const auto allowed = (*runtime)->allowed(); !allowed.ok()) return fail(allowed.status());
  std::vector<Found> cases;
  for (const std::string& folder : arguments.list("FOLDER")) {
    if (!std::filesystem::is_directory(folder))
      return fail(Status(Code::not_found, cat(folder, ": want a folder")));
    for (Found& found : find_cases(folder, *rtol, *atol)) cases.push_back(std::move(found));
  }
  if (cases.empty())
    return fail(Status(Code::not_found, "verify: want folders with cases, found none in them"));
  const auto known = read_known(arguments.text("--known"));
  if (!known.ok()) return fail(known.status());
  Verifying verifying(*runtime);
  Progress progress;
  size_t n_passed = 0, n_streams = 0, n_expected = 0;
  for (const Found& found : cases) {
    progress.show(cat(n_passed, " of ", cases.size(), "  ", found.a_case.name));
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome =
        found.problem.ok() ? verifying.run(found.a_case) : Outcome{false, found.problem.message()};
    if (arguments.has("--on-device") && outcome.passed && outcome.n_kernels == 0)
      outcome = {false, "nothing of it ran on a device"};
    bool expected = false;
    hold_against(*known, found.a_case, outcome, &expected);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    progress.show("");
    n_expected += expected;
    if (!expected) print_case(found.a_case, outcome, ms, arguments.has("--json"));
    n_passed += outcome.passed;
    n_streams += outcome.passed && found.a_case.is_stream();
  }
  const auto least = arguments.integer("--at-least", 0),
             least_streams = arguments.integer("--at-least-streams", 0);
  if (!least.ok()) return fail(least.status());
  if (!least_streams.ok()) return fail(least_streams.status());
  const bool enough = n_passed >= size_t(*least) && n_streams >= size_t(*least_streams);
  if (arguments.has("--json"))
    std::printf("{\"passed\": %zu, \"failed\": %zu, \"streams\": %zu, \"enough\": %s}\n", n_passed,
                cases.size() - n_passed - n_expected, n_streams, enough ? "true" : "false");
  else if (!enough)
    std::printf("want at least %lld passed and %lld streams, got %zu and %zu\n",
                static_cast<long long>(*least), static_cast<long long>(*least_streams), n_passed,
                n_streams);
  if (!arguments.has("--json"))
    std::printf("%zu passed, %zu failed\n", n_passed, cases.size() - n_passed - n_expected);
  return n_passed + n_expected == cases.size() && enough ? kFine : kBadResult;
}

}  // namespace

extern const Command verify_command;
const Command verify_command = {
    "verify",
    "run every case below some folders and compare",
    {{"FOLDER", "FOLDER", "folders with manifest.json, stream.json or ONNX test data", true, true},
     {"--rtol", "X", "relative tolerance instead of the manifest's"},
     {"--atol", "X", "absolute tolerance instead of the manifest's"},
     {"--at-least", "N", "fail unless so many cases passed"},
     {"--known", "FILE", "cases that do not pass, NAME REASON a line; one that passes is an error"},
     {"--on-device", nullptr, "fail a case of which nothing ran on a device"},
     {"--at-least-streams", "N", "fail unless so many streams passed"}},
    run};

}  // namespace ferrule::cli
