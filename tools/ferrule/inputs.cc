#include "tools/ferrule/inputs.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/model/import.h"
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
    {"--droppable", "OUTPUT", "an output that may come back empty, if only its peaks are wanted",
     true},
    {"--lock", "FILE", "which device runs which node; written if there is no such file"},
    {"--lock-write", nullptr, "the lock is written anew, whatever it says"},
};

std::string number(double x) { return std::isnan(x) ? "nan" : format("%.6g", x); }

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr int64_t kMostShown = 16;                 // elements of a result
constexpr int64_t kMostMadeUp = int64_t(4) << 30;  // bytes of one made-up input

using Pairs = std::map<std::string, std::string>;

// A name of the model may have an = in it.
Result<Pairs> pairs(const Arguments& arguments, const char* option, const Model& model) {
  Pairs out;
  for (const std::string& text : arguments.list(option)) {
    FRL_LET(auto pair, name_and_value(text, option));
    for (const ModelValue& value : model.inputs())
      if (value.name.size() > pair.first.size() && text.starts_with(value.name + "="))
        pair = {value.name, text.substr(value.name.size() + 1)};
    if (!out.insert(pair).second)
      return Status(Code::invalid_argument,
                    cat(option, ": want each name once, got ", pair.first, " twice"));
  }
  return out;
}

using Symbols = std::map<std::string, int64_t>;

// What a shape says about the model's symbols.
void bind(const ModelValue& value, const Shape& shape, Symbols& symbols) {
  for (size_t axis = 0; axis < value.dims.size() && axis < shape.rank(); ++axis)
    if (!value.dims[axis].symbol.empty()) symbols.emplace(value.dims[axis].symbol, shape[axis]);
}

Result<Shape> shape_for(const ModelValue& value, const Pairs& given, const Symbols& symbols) {
  std::vector<int64_t> extents;
  if (const auto found = given.find(value.name); found != given.end()) {
    if (found->second.empty()) return Shape();
    for (const std::string& part : split(found->second, ',')) {
      const auto extent = parse_int(trim(part));
      if (!extent || *extent < 0)
        return Status(Code::invalid_argument,
                      cat("--shape ", value.name, ": want extents of 0 or more as in ",
                          value.dims_text, ", got ", found->second));
      extents.push_back(*extent);
    }
    return Shape::checked(extents);
  }
  const auto extent_of = [&](const ModelDim& dim) {
    const auto bound = symbols.find(dim.symbol);
    return dim.extent < 0 && bound != symbols.end() ? bound->second : dim.extent;
  };
  const bool open = std::any_of(value.dims.begin(), value.dims.end(),
                                [&](const ModelDim& dim) { return extent_of(dim) < 0; });
  if (open || !value.has_shape)
    return Status(
        Code::invalid_argument,
        cat("input ", value.name, ": want --shape ", value.name, "=... since the model ",
            open ? cat("declares ", value.dims_text) : "declares no shape", ", got none"));
  for (const ModelDim& dim : value.dims) extents.push_back(extent_of(dim));
  return Shape::checked(extents);
}

// A shape that nothing is made up for would be a setting without an effect.
Status check_shapes(const Model& model, const ModelCall& call, const SessionOptions& options,
                    const Pairs& shapes, bool made_up) {
  std::vector<std::string> names;
  for (const ModelValue& value : model.inputs())
    if (!value.has_default) names.push_back(value.name);
  for (const auto& [name, shape] : shapes) {
    const auto value = std::find_if(model.inputs().begin(), model.inputs().end(),
                                    [&](const ModelValue& v) { return v.name == name; });
    if (value == model.inputs().end())
      return Status(Code::invalid_argument, cat("--shape: want one of ", join(names), ", got ",
                                                name, near_text(name, names)));
    const char* why = call.inputs.count(name)      ? "that --input gives"
                      : options.states.count(name) ? "that is a state"
                      : value->has_default         ? "that the model has a default for"
                      : made_up                    ? nullptr
                                                   : "without --random-inputs";
    if (why)
      return Status(Code::invalid_argument,
                    cat("--shape: want an input that is made up, got ", name, ", ", why));
  }
  return {};
}

// What no device runs is said first: no input would help.
Status check_supported(const Model& model) {
  Status status = import_model(model, {}).status();
  return status.code() == Code::unsupported ? status : Status();
}

Status check_given(const Model& model, const ModelCall& call, const SessionOptions& options) {
  std::vector<std::string> missing;
  for (const auto& [name, tensor] : call.inputs)
    if (std::ranges::count(model.inputs(), name, &ModelValue::name) == 0)
      return {};  // the session names it, and what it may mean
  for (const ModelValue& value : model.inputs())
    if (!call.inputs.count(value.name) && !value.has_default && !options.states.count(value.name))
      missing.push_back(cat(value.name, " ",
                            value.type == Type::none ? value.type_text : type_name(value.type),
                            value.has_shape ? value.dims_text : ""));
  if (missing.empty()) return {};
  FRL_TRY(check_supported(model));
  return Status(Code::invalid_argument, cat("inputs: want ", join(missing),
                                            " by --input NAME=FILE.npy, or "
                                            "--random-inputs SEED to make them up, got nothing"));
}

uint64_t seed_of(int64_t seed, size_t input) { return uint64_t(seed) + input; }

Status make_up(const Model& model, const SessionOptions& options, const Pairs& shapes, int64_t seed,
               NamedTensors& inputs) {
  Symbols symbols;
  for (const ModelValue& value : model.inputs()) {
    if (const auto found = inputs.find(value.name); found != inputs.end())
      bind(value, found->second.shape(), symbols);
    if (!shapes.count(value.name)) continue;
    FRL_LET(const Shape shape, shape_for(value, shapes, {}));
    bind(value, shape, symbols);
  }
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ModelValue& value = model.inputs()[i];
    if (inputs.count(value.name) || value.has_default || options.states.count(value.name)) continue;
    if (value.type == Type::none) {
      FRL_TRY(check_supported(model));
      return Status(Code::unsupported,
                    cat("input ", value.name, ": cannot make up ", value.type_text));
    }
    FRL_LET(const Shape shape, shape_for(value, shapes, symbols));
    bind(value, shape, symbols);
    const TensorType type{value.type, shape};
    int64_t size = 0;
    if (!checked_mul(shape.n_elements(), size_bytes(value.type), &size) || size > kMostMadeUp)
      return Status(Code::out_of_limits, cat("input ", value.name, ": want at most ", kMostMadeUp,
                                             " bytes to make up, got ", to_string(type)));
    inputs[value.name] = random_tensor(type, seed_of(seed, i));
  }
  return {};
}

// Made-up integers that name places are drawn anew among those that there are.
void keep_places(Session& session, const NamedTensors& given, int64_t seed, NamedTensors& inputs) {
  const auto is_made_up = [&](const auto& input) {
    return is_int(input.second.element()) && !given.count(input.first);
  };
  if (std::none_of(inputs.begin(), inputs.end(), is_made_up)) return;
  const auto places = session.count_places(inputs);
  if (!places.ok()) return;  // a run says it better
  const auto& declared = session.model().inputs();
  for (size_t i = 0; i < declared.size(); ++i)
    if (const auto found = places->find(declared[i].name);
        found != places->end() && inputs.count(found->first) && !given.count(found->first)) {
      Tensor& tensor = inputs[found->first];
      tensor = random_tensor(tensor.type(), seed_of(seed, i), found->second);
    }
}

}  // namespace

std::span<const OptionRow> input_options() { return kOptions; }

Tensor random_tensor(const TensorType& type, uint64_t seed, int64_t n_places) {
  Tensor out(type);
  if (is_int(type.type) && size_bytes(type.type) < 8)
    n_places = std::min(n_places, int64_t(1) << (8 * size_bytes(type.type) - 1));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int64_t i = 0; i < out.n_elements(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;  // Knuth's MMIX constants
    const double unit = double(state >> 40) / double(1 << 24);
    if (is_float(type.type))
      out.set_f64(i, 2 * unit - 1);
    else
      out.set_f64(
          i, type.type == Type::boolean ? double(unit < 0.5) : std::floor(unit * double(n_places)));
  }
  return out;
}

Result<ModelCall> open_call(const Arguments& arguments) {
  ModelCall call;
  FRL_LET(Model model, Model::load(arguments.text("MODEL")));
  FRL_LET(const Pairs shapes, pairs(arguments, "--shape", model));
  SessionOptions options;
  FRL_LET(options.states, pairs(arguments, "--state", model));
  for (const std::string& name : arguments.list("--droppable")) options.droppable.insert(name);
  FRL_LET(const Pairs files, pairs(arguments, "--input", model));
  for (const auto& [name, path] : files) {
    if (path.empty())
      return Status(Code::invalid_argument, cat("--input ", name, ": want a file, got nothing"));
    FRL_LET(call.inputs[name], ends_with(path, ".pb") ? load_tensor(path) : read_npy(path));
  }
  FRL_LET(const int64_t seed, arguments.integer("--random-inputs", 0));
  const bool made_up = arguments.has("--random-inputs");
  FRL_TRY(check_shapes(model, call, options, shapes, made_up));
  if (!made_up) FRL_TRY(check_given(model, call, options));
  const NamedTensors given = call.inputs;
  if (made_up) FRL_TRY(make_up(model, options, shapes, seed, call.inputs));
  FRL_LET(auto runtime, open_runtime(arguments));
  FRL_LET(call.session, Session::open(std::move(runtime), std::move(model), std::move(options)));
  if (made_up) keep_places(*call.session, given, seed, call.inputs);
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
  if (n == 1)
    return cat(
        out, "  ",
        is_float(tensor.element()) ? number(tensor.at_f64(0)) : std::to_string(tensor.at_i64(0)));
  if (best >= 0) {
    std::string at;
    int64_t rest = best;
    for (size_t axis = tensor.shape().rank(); axis-- > 0;) {
      at = cat(rest % tensor.shape()[axis], at.empty() ? "" : ",", at);
      rest /= tensor.shape()[axis];
    }
    out += cat("  max ", number(tensor.at_f64(best)), " at [", at, "]  mean ",
               number(sum / double(n - n_nan)));
  }
  if (n_nan) out += cat("  nan ", n_nan);
  if (n > kMostShown) return out;
  for (int64_t i = 0; i < n; ++i)
    out += cat(i ? ", " : "  [", is_float(tensor.element()) ? number(tensor.at_f64(i))
                                                            : std::to_string(tensor.at_i64(i)));
  return out + "]";
}

}  // namespace ferrule::cli
