#include "conformance/raw/specimen.h"

#include <cmath>

#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance::raw {
namespace {

// $T is the element type, $N the leading extent.
struct Text {
  const char* name;
  bool exact;
  const char* text;
};
constexpr Text kTexts[] = {
    {"pointwise_add", true, R"(graph "g"
  %x = input $T[$N,5] "x"
  %b = input $T[$N,5] "b"
  %y = pointwise %x, %b
  body
    %p = input $T[$N,5] "p"
    %q = input $T[$N,5] "q"
    %s = add %p, %q
    return %s "s"
  return %y "y"
)"},
    {"pointwise_mul", true, R"(graph "g"
  %x = input $T[$N,5] "x"
  %b = input $T[$N,5] "b"
  %y = pointwise %x, %b
  body
    %p = input $T[$N,5] "p"
    %q = input $T[$N,5] "q"
    %s = mul %p, %q
    return %s "s"
  return %y "y"
)"},
    {"pointwise_relu", true, R"(graph "g"
  %x = input $T[$N,5] "x"
  %y = pointwise %x
  body
    %p = input $T[$N,5] "p"
    %s = relu %p
    return %s "s"
  return %y "y"
)"},
    {"pointwise_neg", true, R"(graph "g"
  %x = input $T[$N,5] "x"
  %y = pointwise %x
  body
    %p = input $T[$N,5] "p"
    %s = neg %p
    return %s "s"
  return %y "y"
)"},
    {"add", true,
     "graph \"g\"\n  %x = input $T[$N,5] \"x\"\n  %b = input $T[$N,5] \"b\"\n  %y = add %x, %b\n  "
     "return %y \"y\"\n"},
    {"mul", true,
     "graph \"g\"\n  %x = input $T[$N,5] \"x\"\n  %b = input $T[$N,5] \"b\"\n  %y = mul %x, %b\n  "
     "return %y \"y\"\n"},
    {"relu", true, "graph \"g\"\n  %x = input $T[$N,5] \"x\"\n  %y = relu %x\n  return %y \"y\"\n"},
    {"neg", true, "graph \"g\"\n  %x = input $T[$N,5] \"x\"\n  %y = neg %x\n  return %y \"y\"\n"},
    {"matmul", true,
     "graph \"g\"\n  %x = input $T[$N,8] \"x\"\n  %w = input $T[8,8] \"w\"\n  %y = matmul %x, %w\n "
     " return %y \"y\"\n"},
    {"matmul_weight", false,
     "graph \"g\"\n  %x = input $T[$N,8] \"x\"\n  %w = parameter $T[8,8] \"w\" = random 1\n  %y = "
     "matmul %x, %w\n  return %y \"y\"\n"},
    {"transpose", true,
     "graph \"g\"\n  %x = input $T[$N,5] \"x\"\n  %y = transpose %x {order=[-1,-2]}\n  return %y "
     "\"y\"\n"},
    {"softmax", false,
     "graph \"g\"\n  %x = input $T[$N,7] \"x\"\n  %y = softmax %x {axis=-1}\n  return %y \"y\"\n"},
    {"reduce", true,
     "graph \"g\"\n  %x = input $T[$N,7] \"x\"\n  %y = reduce %x {by=49, axes=[-1]}\n  return %y "
     "\"y\"\n"},
};
constexpr const char* kTypes[] = {"f32", "f16", "bf16", "f64", "i32", "i64", "u8", "i8"};

std::string filled(std::string text, const char* type, int64_t rows) {
  const std::pair<const char*, std::string> places[] = {{"$T", type}, {"$N", cat(rows)}};
  for (const auto& [mark, by] : places)
    for (size_t at; (at = text.find(mark)) != text.npos;) text.replace(at, 2, by);
  return text;
}

std::optional<Specimen> try_text(const Session& session, const Text& row, int64_t rows,
                                 bool evaluated) {
  for (const char* type : kTypes) {
    auto graph = parse_graph(filled(row.text, type, rows));
    if (!graph.ok() || !admits(session, *graph, NodeId(0))) continue;
    const Specimen bare{cat(row.name, "/", type), std::move(*graph), {}, {}, row.exact};
    if (!evaluated) return bare;
    if (auto out = with_inputs(bare, 0); out.ok()) return std::move(*out);
  }
  return {};
}

}  // namespace

Tensor ramp(const TensorType& type, int seed) {
  Tensor out(type);
  const int low = is_unsigned_int(type.type) ? 0 : -3;
  for (int64_t i = 0; i < out.n_elements(); ++i)
    out.set_f64(i, double((i * 5 + seed * 3) % 7 + low));
  return out;
}

Result<Specimen> with_inputs(const Specimen& specimen, int seed) {
  Specimen out = specimen;
  out.inputs.clear();
  for (ValueId id : out.graph.inputs())
    out.inputs.push_back(ramp(out.graph.value(id).type, ++seed));
  FRL_LET(out.want, evaluate(out.graph, out.inputs));
  return out;
}

bool admits(const Session& session, const Graph& graph, NodeId id) {
  if (!match_claims(session.row(), graph, graph.node(id), FRL_COMPUTE_IEEE).claim) return false;
  const auto block = block_of(graph, id, session.row());
  return block.ok() && session.refuse(*block).ok();
}

std::vector<Specimen> specimens(const Session& session, int64_t rows) {
  std::vector<Specimen> out;
  for (const Text& row : kTexts)
    if (auto found = try_text(session, row, rows, true)) out.push_back(std::move(*found));
  return out;
}

Result<Specimen> specimen(const Session& session, int64_t rows, bool evaluated) {
  for (const Text& row : kTexts)
    if (auto found = try_text(session, row, rows, evaluated)) return std::move(*found);
  return Status(Code::not_claimed,
                "specimen: want a device that claims one of pointwise, add, relu, matmul, "
                "transpose, softmax, reduce");
}

Result<Block> block_of(const Graph& graph, NodeId id, const DeviceRow& row) {
  const Node& node = graph.node(id);
  std::vector<Placed> operands, results(node.results.size());
  const uint32_t align = row.spaces.empty() ? 1 : row.spaces[0].align_bytes;
  for (ValueId value : node.operands)
    operands.push_back(
        {value != kNoValue && graph.value(value).role == Role::parameter, false, align, {}});
  for (Placed& result : results) result.align_bytes = align;
  return encode_region(graph, node, operands, results, FRL_COMPUTE_IEEE);
}

std::string differs(const Specimen& specimen, std::span<const Tensor> got) {
  if (got.size() != specimen.want.size())
    return cat("results: want ", specimen.want.size(), ", got ", got.size());
  for (size_t r = 0; r < got.size(); ++r) {
    const Tensor& want = specimen.want[r];
    if (got[r].type() != want.type())
      return cat("result ", r, ": want ", to_string(want.type()), ", got ",
                 to_string(got[r].type()));
    for (int64_t i = 0; i < want.n_elements(); ++i) {
      const double a = got[r].at_f64(i), b = want.at_f64(i),
                   bound = specimen.exact ? 0 : 0.02 * (1 + std::abs(b));
      if (!(std::abs(a - b) <= bound))
        return cat(specimen.name, ": result ", r, ", element ", i, ": want ", b, ", got ", a);
    }
  }
  return "";
}

}  // namespace ferrule::conformance::raw
