// verify: every case below some folders, a line each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "core/base/text.h"
#include "tools/ferrule/compare.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/manifest.h"
#include "tools/ferrule/npy.h"

namespace ferrule::cli {
namespace {

constexpr const char *kCaseFloor = "--at-least", *kStreamFloor = "--at-least-streams";

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
        return Status(Code::invalid_argument,
                      cat("case: want at most the model's ", declared.size(), " inputs, got ",
                          c.inputs.size()));
      const std::string name = input.name.empty() ? declared[position++].name : input.name;
      FRL_LET(inputs[name], read_tensor(input.file));
    }
    FRL_LET(const auto outputs, session->run(inputs));
    FRL_LET(const auto compiled, session->compile(inputs));
    outcome.passed = true, outcome.n_kernels = count_kernels(*compiled->executable);
    if (outputs.size() < c.outputs.size())
      return Status(Code::invalid_argument, cat("case: want at most the model's ", outputs.size(),
                                                " outputs, got ", c.outputs.size()));
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
      return Status(Code::invalid_argument, cat("stream: want whole chunks of ", to_string(chunk),
                                                ", got ", to_string(chunks.type())));
    FRL_LET(const Tensor expected, read_npy(c.outputs[0].file));
    Tensor all(expected.type());
    NamedTensors inputs;
    for (const Case::Fixed& fixed : c.fixed) {
      FRL_LET(const Shape fixed_shape, Shape::checked(fixed.shape));
      Tensor tensor(TensorType{fixed.type == "int64" ? Type::i64 : Type::f32, fixed_shape});
      for (int64_t i = 0; i < tensor.n_elements(); ++i) tensor.set_f64(i, fixed.value);
      inputs[fixed.name] = tensor;
    }
    const auto too = [&](const char* much) {
      return Status(Code::invalid_argument, cat("stream: want ", to_string(expected.type()), " of ",
                                                c.outputs[0].name, ", got ", much));
    };
    Tensor state;
    size_t at = 0;
    for (size_t i = 0; i < chunks.bytes().size() / size; ++i) {
      inputs[c.chunks.name] = Tensor(chunk, chunks.bytes().subspan(i * size, size), chunks.owner());
      FRL_LET(const auto outputs, stream.run(inputs));
      for (const NamedTensor& output : outputs) {
        if (output.name == c.state_output) state = output.tensor;
        if (output.name != c.outputs[0].name) continue;
        const Bytes bytes = output.tensor.bytes();
        if (at + bytes.size() > all.bytes().size()) return too("more");
        std::memcpy(all.mutable_data() + at, bytes.data(), bytes.size());
        at += bytes.size();
      }
    }
    if (at != all.bytes().size()) return too("less");
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
  FRL_LET(const MappedFile file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  for (const std::string& line : split(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    if (space == std::string::npos || printable(line, true) != line)
      return Status(Code::invalid_argument,
                    cat(path, ": want NAME REASON a line, got ", line.substr(0, 80)));
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

void print_case(const Case& c, const Outcome& outcome, double ms, bool json, bool first) {
  if (json)
    print(cat(first ? "\n " : ",\n ", "{\"case\": ", json_quote(c.name), ", \"passed\": ",
              outcome.passed, ", \"stream\": ", c.is_stream(), ", \"kernels\": ", outcome.n_kernels,
              ", \"ms\": ", format("%.3f", ms), ", \"text\": ", json_quote(outcome.text), "}"));
  else
    print_text(cat(outcome.passed ? "passed" : "FAILED", "  ", c.name,
                   c.is_stream() ? " (stream)" : "", format("  %.0f ms  ", ms),
                   printable(outcome.text, false), "\n"));
  std::fflush(stdout);
}

struct Judged {
  std::string folder;  // of the case
  bool passed = false, stream = false, listed = false;
};

std::vector<Judged> run_cases(const std::vector<Found>& cases,
                              const std::shared_ptr<Runtime>& runtime,
                              const std::map<std::string, std::string>& known,
                              const Arguments& arguments) {
  Verifying verifying(runtime);
  Progress progress;
  std::vector<Judged> out;
  bool first = true;
  for (const Found& found : cases) {
    progress.show(cat(out.size(), " of ", cases.size(), "  ", found.a_case.name));
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome =
        found.problem.ok() ? verifying.run(found.a_case) : Outcome{false, found.problem.message()};
    if (arguments.has("--on-device") && outcome.passed && outcome.n_kernels == 0)
      outcome = {false, "nothing of it ran on a device"};
    bool listed = false;
    hold_against(known, found.a_case, outcome, &listed);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    progress.show("");
    if (!listed)
      print_case(found.a_case, outcome, ms, arguments.has("--json"), first), first = false;
    out.push_back({found.a_case.name, outcome.passed, found.a_case.is_stream(), listed});
  }
  return out;
}

// "N" or "FOLDER=N": how many must have passed, in all or below one of the folders.
struct Floor {
  std::string folder;  // empty: all
  bool streams = false;
  int64_t least = 0;

  int64_t count(const std::vector<Judged>& cases) const {
    return std::count_if(cases.begin(), cases.end(), [&](const Judged& c) {
      return c.passed && (c.stream || !streams) && is_below(c.folder);
    });
  }
  std::string want() const {
    return cat("at least ", least, streams ? " streams" : " cases", folder.empty() ? "" : " below ",
               folder);
  }

 private:
  bool is_below(const std::string& place) const {
    return folder.empty() || folder == "." || place == folder || place.starts_with(folder + "/");
  }
};

Result<Floor> read_floor(bool streams, const std::string& text,
                         const std::vector<std::string>& folders) {
  const char* option = streams ? kStreamFloor : kCaseFloor;
  const size_t at = text.rfind('=');
  const auto least = parse_int(at == std::string::npos ? text : text.substr(at + 1));
  if (!least || *least < 0)
    return Status(Code::invalid_argument,
                  cat(option, ": want an integer of 0 or more, or FOLDER=N, got ", text));
  Floor floor{"", streams, *least};
  if (at == std::string::npos) return floor;
  floor.folder = plain_path(text.substr(0, at));
  if (std::find(folders.begin(), folders.end(), floor.folder) != folders.end()) return floor;
  return Status(Code::invalid_argument,
                cat(option, ": want one of the folders ", join(folders), ", got ",
                    text.substr(0, at), near_text(floor.folder, folders)));
}

Result<std::vector<Floor>> read_floors(const Arguments& arguments) {
  std::vector<std::string> folders;
  for (const std::string& folder : arguments.list("FOLDER")) folders.push_back(plain_path(folder));
  std::vector<Floor> out;
  for (const bool streams : {false, true})
    for (const std::string& text : arguments.list(streams ? kStreamFloor : kCaseFloor)) {
      FRL_LET(out.emplace_back(), read_floor(streams, text, folders));
    }
  return out;
}

Result<std::vector<Found>> collect(const Arguments& arguments) {
  FRL_LET(const double rtol, arguments.tolerance("--rtol", -1));
  FRL_LET(const double atol, arguments.tolerance("--atol", -1));
  FRL_LET(auto cases, find_cases(arguments.list("FOLDER")));
  for (Found& found : cases)
    for (CaseTensor& tensor : found.a_case.outputs) {
      if (rtol >= 0) tensor.rtol = rtol;
      if (atol >= 0) tensor.atol = atol;
    }
  return cases;
}

// The last lines, and the exit code.
int conclude(const std::vector<Judged>& cases, const std::vector<Floor>& floors, bool json) {
  const Floor passed, streams{"", true};
  const int64_t n_passed = passed.count(cases);
  const int64_t n_failed = std::count_if(cases.begin(), cases.end(),
                                         [](const Judged& c) { return !c.passed && !c.listed; });
  std::string missed;
  for (const Floor& floor : floors)
    if (const int64_t n = floor.count(cases); n < floor.least)
      missed += cat("want ", floor.want(), ", got ", n, "\n");
  if (json)
    print(cat("\n], \"passed\": ", n_passed, ", \"failed\": ", n_failed,
              ", \"streams\": ", streams.count(cases), ", \"enough\": ", missed.empty(), "}\n"));
  else
    print_text(cat(missed, n_passed, " passed, ", n_failed, " failed\n"));
  if (n_passed + n_failed == 0)
    return complain(
        Status(Code::invalid_argument, cat("verify: want a case that may pass, got ", cases.size(),
                                           " that --known lists as failing")));
  return n_failed == 0 && missed.empty() ? kFine : kBadResult;
}

Result<int> run(const Arguments& arguments) {
  FRL_LET(const auto floors, read_floors(arguments));
  FRL_LET(const auto known, read_known(arguments.text("--known")).within("--known"));
  FRL_LET(const auto runtime, open_runtime(arguments, true));
  FRL_TRY(runtime->allowed().status());
  FRL_LET(const auto cases, collect(arguments));
  const bool json = arguments.has("--json");
  if (json) print("{\"cases\": [");
  return conclude(run_cases(cases, runtime, known, arguments), floors, json);
}

}  // namespace

extern const Command verify_command = {
    "verify",
    "run every case below some folders and compare",
    {{"FOLDER", "FOLDER", "folders with manifest.json, stream.json or ONNX test data", true, true},
     {"--rtol", "X", "relative tolerance instead of the manifest's"},
     {"--atol", "X", "absolute tolerance instead of the manifest's"},
     {kCaseFloor, "[FOLDER=]N", "fail unless so many cases passed, in all or below FOLDER", true},
     {kStreamFloor, "[FOLDER=]N", "the same for streams alone", true},
     {"--known", "FILE", "cases that do not pass, NAME REASON a line; one that passes is an error"},
     {"--on-device", nullptr, "fail a case of which nothing ran on a device"}},
    run};

}  // namespace ferrule::cli
