#include "conformance/cases/golden.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "conformance/cases/layout.h"
#include "conformance/judge/number.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

Status wrong(std::string_view what, std::string_view text) {
  return Status(Code::invalid_argument, cat("golden: want ", what, ", got ", text));
}

// One element as text into its place.
bool put_element(Tensor& tensor, int64_t i, std::string_view text) {
  const Type type = tensor.element();
  if (is_float(type)) {
    const auto value = parse_double(text);
    if (value) tensor.set_f64(i, *value);
    return value.has_value();
  }
  uint64_t bits = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const auto end = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return false;
  if (negative) bits = 0 - bits;
  std::memcpy(tensor.mutable_data() + i * size_bytes(type), &bits, size_t(size_bytes(type)));
  return true;
}

// "f32[2]=1,2"; a scalar may leave out its shape. An empty tensor for "-".
Result<Tensor> parse_tensor(std::string_view type_text, std::string_view elements) {
  std::string text(type_text);
  if (text.find('[') == std::string::npos) text += "[]";
  FRL_LET(const OperandSpec spec, parse_operand(text, Type::none));
  if (spec.type.type == Type::none) return wrong("an element type", type_text);
  Tensor out(spec.type);
  const std::vector<std::string> parts =
      elements.empty() ? std::vector<std::string>() : split(elements, ',');
  if (int64_t(parts.size()) != out.n_elements())
    return wrong(cat(out.n_elements(), " elements"), elements);
  for (size_t i = 0; i < parts.size(); ++i)
    if (!put_element(out, int64_t(i), parts[i])) return wrong("an element", parts[i]);
  return out;
}

Result<std::vector<Tensor>> parse_tensors(std::string_view text) {
  std::vector<Tensor> out;
  for (const std::string& item : split(text, ' ')) {
    if (item.empty()) continue;
    if (item == "-") {
      out.emplace_back();
      continue;
    }
    const size_t at = item.find('=');
    if (at == std::string::npos) return wrong("type[shape]=elements", item);
    FRL_LET(Tensor tensor, parse_tensor(std::string_view(item).substr(0, at),
                                        std::string_view(item).substr(at + 1)));
    out.push_back(std::move(tensor));
  }
  return out;
}

// "add 0 1 {axis=-1}" or "lit f32 2" as further values of the body.
Status parse_node(Graph& body, std::string text, std::vector<ValueId>& values) {
  std::string attributes;
  if (const size_t open = text.find('{'); open != std::string::npos) {
    attributes = text.substr(open + 1, text.find('}') - open - 1);
    text.resize(open);
  }
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  if (words.empty()) return {};
  if (words[0] == "lit" && words.size() == 3) {
    FRL_LET(Tensor tensor, parse_tensor(words[1], words[2]));
    values.push_back(body.add_literal(std::move(tensor)));
    return {};
  }
  const OpRow* row = find_op(words[0]);
  if (!row) return wrong("an op", words[0]);
  FRL_LET(Attributes parsed, parse_attributes(row->id, attributes));
  std::vector<ValueId> operands;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto number = parse_int(words[i]);
    if (!number || *number < 0 || size_t(*number) >= values.size())
      return wrong("a value so far", words[i]);
    operands.push_back(values[size_t(*number)]);
  }
  FRL_LET(const NodeId id, body.emit_node(row->id, std::move(parsed), std::move(operands)));
  const std::vector<ValueId> results = body.node(id).results;
  values.insert(values.end(), results.begin(), results.end());
  return {};
}

// "types: nodes > outputs"
Result<Body> parse_body(const std::string& text) {
  const size_t colon = text.find(':'), arrow = text.rfind('>');
  if (colon == std::string::npos || arrow == std::string::npos)
    return wrong("types: nodes > outputs", text);
  auto body = std::make_shared<Graph>("body");
  std::vector<ValueId> values;
  for (const std::string& type : split(text.substr(0, colon), ' ')) {
    if (type.empty()) continue;
    FRL_LET(const OperandSpec spec, parse_operand(type, Type::none));
    values.push_back(body->add_input(spec.type, cat(values.size())));
  }
  for (const std::string& node : split(text.substr(colon + 1, arrow - colon - 1), ';'))
    FRL_TRY(parse_node(*body, node, values));
  for (const std::string& output : split(text.substr(arrow + 1), ' ')) {
    if (output.empty()) continue;
    const auto number = parse_int(output);
    if (!number || size_t(*number) >= values.size()) return wrong("an output", output);
    body->add_output(values[size_t(*number)], cat("y", body->outputs().size()));
  }
  return Body(body);
}

Result<std::vector<Body>> parse_bodies(const std::string& text) {
  std::vector<Body> out;
  for (size_t from = 0; from < text.size();) {
    const size_t slash = text.find(" / ", from),
                 end = slash == std::string::npos ? text.size() : slash;
    FRL_LET(Body body, parse_body(text.substr(from, end - from)));
    out.push_back(std::move(body));
    from = slash == std::string::npos ? text.size() : slash + 3;
  }
  return out;
}

Result<GoldenCase> parse_line(const std::string& line) {
  const std::vector<std::string> fields = split(line, '|');
  const OpRow* row = find_op(fields[0]);
  if (!row || fields.size() != 5)
    return wrong("op|attributes|bodies|operands|results", line.substr(0, 40));
  GoldenCase out;
  out.op = row->id;
  FRL_LET(Attributes attributes, parse_attributes(row->id, fields[1]));
  FRL_LET(std::vector<Body> bodies, parse_bodies(fields[2]));
  FRL_LET(const std::vector<Tensor> operands, parse_tensors(fields[3]));
  FRL_LET(out.results, parse_tensors(fields[4]));
  out.graph = Graph("case");
  std::vector<ValueId> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    // What resize multiplies by is known when a kernel is compiled, as models have it.
    const bool literal = row->id == FRL_OP_resize && i > 0;
    if (operands[i].empty())
      ids.push_back(kNoValue);
    else
      ids.push_back(literal ? out.graph.add_literal(operands[i])
                            : out.graph.add_input(operands[i].type(), cat(i)));
    if (!operands[i].empty() && !literal) out.inputs.push_back(operands[i]);
  }
  FRL_LET(const NodeId id,
          out.graph.emit_node(row->id, std::move(attributes), std::move(ids), std::move(bodies)));
  const std::vector<ValueId> results = out.graph.node(id).results;
  for (size_t r = 0; r < results.size(); ++r) out.graph.add_output(results[r], cat("y", r));
  return out;
}

// What the judge expects, moved to the golden value. Where a claim says that inner values are kept
// wide, the reference stands: golden values have them rounded.
bool move_to(Expected& want, const Tensor& golden) {
  if (want.type != golden.type()) return false;
  if (!is_float(golden.element())) {
    want.exact = golden;
    return true;
  }
  const FloatFormat format = format_of(golden.element());
  for (int64_t i = 0; i < golden.n_elements(); ++i) {
    const double g = golden.at_f64(i), v = want.value[size_t(i)], rounding = format.ulp(g) / 2;
    double& bound = want.bound[size_t(i)];
    if (std::isnan(g) != std::isnan(v)) return false;
    if (!std::isfinite(g) || std::isinf(bound)) continue;
    if (std::fabs(g - v) > bound + 2 * rounding) return false;
    if (g != 0) want.value[size_t(i)] = g;
    if (bound > 0) bound += rounding;
  }
  for (int64_t i = 0; i < golden.n_elements(); ++i)  // of zeros the reference knows the sign
    if (golden.at_f64(i) != 0) want.exact.set_f64(i, golden.at_f64(i));
  return true;
}

Outcome check_golden(const Target& target, const Graph& graph, const GoldenCase& golden) {
  auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  if (const Refusal refusal = (*rig)->asks(graph); refusal.refused())
    return {Verdict::not_claimed, refusal.text, 1, 0};
  auto want = expect(graph, golden.inputs, target.row());
  if (!want.ok()) return {Verdict::internal_error, "reference: " + want.status().message(), 0, 0};
  const RunResult result = (*rig)->run(graph, golden.inputs);
  if (!result.status.ok()) return not_run(graph, result.status);
  if (!result.damage.empty()) return fail(result.damage);
  const uint32_t fp = fp_of(graph, target.row());
  Outcome out = pass(0);
  for (size_t r = 0; r < want->size(); ++r) {
    Expected moved = (*want)[r];
    const bool same = move_to(moved, golden.results[r]);
    if (!same && !(fp & FRL_FP_WIDE_INSIDE))
      return {Verdict::internal_error,
              cat("result ", r, ": the reference and the golden values differ"), 0, 0};
    merge(out, judge(result.results[r], same ? moved : (*want)[r], fp));
  }
  return out;
}

}  // namespace

Result<std::vector<GoldenCase>> read_golden(const std::string& path) {
  std::ifstream in(path);
  if (!in)
    return Status(Code::not_found, cat("golden values: want ", path, ", got nothing to read"));
  std::vector<GoldenCase> out;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    auto parsed = parse_line(line);
    if (!parsed.ok()) return std::move(parsed).within(cat("line ", number)).status();
    parsed->line = number;
    out.push_back(std::move(*parsed));
  }
  return out;
}

void list_golden(const Target& target, std::vector<Case>& cases) {
  if (target.only &&
      std::none_of(target.only->begin(), target.only->end(), [](const std::string& name) {
        return name.find("/golden/") != std::string::npos;
      }))
    return;
  auto golden = read_golden(target.data_folder + "/golden.txt");
  if (!golden.ok()) {
    cases.push_back({"F/golden/file", [text = golden.status().message()](const Target&) {
                       return Outcome{Verdict::internal_error, text, 0, 0};
                     }});
    return;
  }
  std::vector<size_t> seen(op_rows().size() + 1);
  for (GoldenCase& one : *golden) {
    const size_t number = seen[one.op]++;
    if (target.depth == Depth::smoke && number % 8) continue;
    const std::string name = cat("F/", op_row(one.op).name, "/golden/", number);
    const auto kept = std::make_shared<const GoldenCase>(std::move(one));
    add_case(target, cases, name, kept->graph,
             [kept](const Target& t, const Graph& graph, uint64_t) {
               return check_golden(t, graph, *kept);
             });
  }
}

}  // namespace ferrule::conformance
