#include "tools/ferrule/inputs.h"

#include <cmath>

#include "core/base/text.h"
#include "tools/ferrule/npy.h"

namespace ferrule::cli {
namespace {

constexpr OptionRow kOptions[] = {
    {"MODEL", "MODEL", "an .onnx file", false, true},
    {"--input", "NAME=FILE", "an input from an .npy or .pb file", true},
    {"--random-inputs", "SEED", "inputs that are not given are made up"},
    {"--shape", "NAME=1,2,3", "the shape of a made-up input, where the model leaves it open", true},
    {"--state", "IN=OUT",
     "an input that keeps its value from run to run, and the output that renews it", true},
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Result<Shape> shape_for(const ModelValue& value, const std::map<std::string, std::string>& given) {
  std::vector<int64_t> extents;
  if (const auto found = given.find(value.name); found != given.end()) {
    if (found->second.empty()) return Shape();
    for (const std::string& part : split(found->second, ',')) {
      const auto extent = parse_int(trim(part));
      if (!extent)
        return Status(Code::invalid_argument,
                      cat("--shape ", value.name, ": want extents, got ", part));
      extents.push_back(*extent);
    }
  } else {
    for (const ModelDim& dim : value.dims) {
      if (dim.extent < 0)
        return Status(Code::invalid_argument, cat("input ", value.name, ": the model leaves ",
                                                  dim.symbol.empty() ? "an extent" : dim.symbol,
                                                  " open; want --shape ", value.name, "=..."));
      extents.push_back(dim.extent);
    }
  }
  return Shape::checked(extents);
}

Result<std::map<std::string, std::string>> pairs(const Arguments& arguments, const char* option) {
  std::map<std::string, std::string> out;
  for (const std::string& text : arguments.list(option)) {
    FRL_LET(auto pair, name_and_value(text, option));
    out[pair.first] = pair.second;
  }
  return out;
}

}  // namespace

std::span<const OptionRow> input_options() { return kOptions; }

Tensor random_tensor(const TensorType& type, uint64_t seed) {
  Tensor out(type);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int64_t i = 0; i < out.n_elements(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;  // Knuth's MMIX constants
    const double unit = double(state >> 40) / double(1 << 24);
    if (is_float(type.type))
      out.set_f64(i, 2 * unit - 1);
    else
      out.set_f64(i, type.type == Type::boolean ? double(unit < 0.5) : std::floor(unit * 10));
  }
  return out;
}

Result<ModelCall> open_call(const Arguments& arguments) {
  ModelCall call;
  FRL_LET(Model model, Model::load(arguments.text("MODEL")));
  FRL_LET(const auto shapes, pairs(arguments, "--shape"));
  SessionOptions options;
  FRL_LET(options.states, pairs(arguments, "--state"));
  FRL_LET(const auto files, pairs(arguments, "--input"));
  for (const auto& [name, path] : files) {
    FRL_LET(call.inputs[name], ends_with(path, ".pb") ? load_tensor(path) : read_npy(path));
  }
  if (arguments.has("--random-inputs")) {
    FRL_LET(const int64_t seed, arguments.integer("--random-inputs", 0));
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      const ModelValue& value = model.inputs()[i];
      if (call.inputs.count(value.name) || value.has_default || options.states.count(value.name))
        continue;
      FRL_LET(const Shape shape, shape_for(value, shapes));
      if (value.type == Type::none)
        return Status(Code::unsupported,
                      cat("input ", value.name, ": cannot make up ", value.type_text));
      call.inputs[value.name] = random_tensor({value.type, shape}, uint64_t(seed) + i);
    }
  }
  FRL_LET(auto runtime, open_runtime(arguments));
  FRL_LET(call.session, Session::open(std::move(runtime), std::move(model), std::move(options)));
  return call;
}

std::string summary(const Tensor& tensor) {
  const int64_t n = tensor.n_elements();
  std::string out = to_string(tensor.type());
  if (n == 0) return out + "  empty";
  int64_t best = -1, n_nan = 0;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = tensor.at_f64(i);
    if (std::isnan(x)) {
      ++n_nan;
      continue;
    }
    sum += x;
    if (best < 0 || x > tensor.at_f64(best)) best = i;
  }
  if (n == 1) return cat(out, "  ", tensor.at_f64(0));
  if (best >= 0) {
    std::string at;
    int64_t rest = best;
    for (size_t axis = tensor.shape().rank(); axis-- > 0;) {
      at = cat(rest % tensor.shape()[axis], at.empty() ? "" : ",", at);
      rest /= tensor.shape()[axis];
    }
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "  max %.6g at [%s]  mean %.6g", tensor.at_f64(best),
                  at.c_str(), sum / double(n - n_nan));
    out += numbers;
  }
  return n_nan ? cat(out, "  nan ", n_nan) : out;
}

}  // namespace ferrule::cli
