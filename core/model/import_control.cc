// If, Loop and Scan.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/bodies.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

void inline_branch(ModelNode& n, const onnx::GraphProto& branch) {
  auto entries = n.importer().run_graph(branch, n.scope(), n.block(), {});
  if (!entries.ok()) return n.fail(std::move(entries).status());
  for (size_t i = 0; i < entries->size(); ++i) n.out(i, (*entries)[i]);
}

// Both branches as bodies; a status that says why that is not possible.
Status branch_on_device(ModelNode& n, Val condition, const onnx::GraphProto* const graphs[2],
                        bool* contradict) {
  ImportBlock then_block(n.block().state(), &n.block(), "then"),
      else_block(n.block().state(), &n.block(), "else");
  ImportBlock* const blocks[] = {&then_block, &else_block};
  std::vector<Val> outputs[2];
  for (size_t b = 0; b < 2; ++b) {
    FRL_LET(const auto entries, n.importer().run_graph(*graphs[b], n.scope(), *blocks[b], {}));
    if (!tensors_of(entries, &outputs[b]))
      return Status(Code::unsupported,
                    "its branches give sequences or optionals, and its condition is not known");
  }
  for (size_t i = 0; i < outputs[0].size(); ++i)
    if (outputs[0][i].element() != outputs[1][i].element())
      return *contradict = true,
             Status(Code::invalid_argument,
                    cat("want branches that give one type as result ", i, ", got ",
                        to_string(outputs[0][i].type()), " and ", to_string(outputs[1][i].type())));
  FRL_LET(Bodies made, close_bodies(blocks, outputs, {}));
  std::vector<Val> operands = {condition};
  operands.insert(operands.end(), made.captured.begin(), made.captured.end());
  n.mark_source();
  const auto results =
      n.block().emit_all(FRL_OP_if, Attributes(FRL_OP_if), operands, std::move(made.bodies));
  if (n.failed()) return n.block().status();
  for (size_t i = 0; i < results.size(); ++i) n.out(i, results[i]);
  return {};
}

void if_else(ModelNode& n) {
  const Val condition = n.in(0);
  if (!n.want(condition.element() == Type::boolean && condition.n_elements() == 1,
              "one bool as condition"))
    return;
  const onnx::GraphProto* graphs[] = {n.graph("then_branch", 0, n.n_out()),
                                      n.graph("else_branch", 0, n.n_out())};
  if (n.failed()) return;
  Tensor known;
  if (n.try_known(condition, &known)) return inline_branch(n, *graphs[known.at_i64(0) == 0]);
  bool contradict = false;
  Status status = branch_on_device(n, condition, graphs, &contradict);
  if (status.ok()) return;
  n.forget();
  // What one branch alone cannot do may never be asked of it: the condition decides at import.
  if (contradict || n.asks() || !n.knowable(condition, &known)) return n.fail(std::move(status));
  inline_branch(n, *graphs[known.at_i64(0) == 0]);
}

// One scan node and the body it will have.
struct ScanShape {
  std::vector<Val> carried, sliced;
  Ints sliced_axes, sliced_reverse;  // axes from 0
  Ints result_axes, result_reverse;  // as the model gives them, one for each sliced result
  int64_t length = 0;
};

std::vector<TensorType> input_types(const ScanShape& s) {
  std::vector<TensorType> types;
  for (const Val& value : s.carried) types.push_back(value.type());
  for (size_t i = 0; i < s.sliced.size(); ++i) {
    types.push_back({s.sliced[i].element(), {}});
    for (int64_t axis = 0; axis < s.sliced[i].rank(); ++axis)
      if (axis != s.sliced_axes[i]) types.back().shape.push_back(s.sliced[i].dim(axis));
  }
  return types;
}

std::vector<Entry> add_inputs(ImportBlock& block, const std::vector<TensorType>& types) {
  std::vector<Entry> entries;
  for (const TensorType& type : types)
    entries.push_back(
        Entry::of(block.at(block.graph().add_input(type, cat("in", entries.size())))));
  return entries;
}

// `outputs` of the block: carried values anew, then slices of results.
Status emit_scan(ModelNode& n, const ScanShape& s, ImportBlock& block,
                 const std::vector<Val>& outputs, std::vector<Val>* results) {
  Attributes attributes(FRL_OP_scan);
  Ints axes, reverse = s.sliced_reverse;
  for (size_t i = 0; i < s.sliced.size(); ++i)
    axes.push_back(s.sliced_axes[i] - s.sliced[i].rank());
  for (size_t i = s.carried.size(); i < outputs.size(); ++i) {
    const size_t k = i - s.carried.size();
    const int64_t rank = outputs[i].rank() + 1;
    axes.push_back(n.axis(s.result_axes[k], rank) - rank);
    reverse.push_back(s.result_reverse[k]);
  }
  attributes.set_i(FRL_AT_scan_carried, int64_t(s.carried.size()))
      .set_i(FRL_AT_scan_sliced, int64_t(s.sliced.size()));
  attributes.set_i(FRL_AT_scan_length, s.length).set_list(FRL_AT_scan_axes, axes);
  if (std::ranges::any_of(reverse, [](int64_t r) { return r != 0; }))
    attributes.set_list(FRL_AT_scan_reverse, reverse);
  ImportBlock* const blocks[] = {&block};
  const std::vector<Val> given[] = {outputs};
  FRL_LET(Bodies made, close_bodies(blocks, given, input_types(s)));
  std::vector<Val> operands = s.carried;
  operands.insert(operands.end(), s.sliced.begin(), s.sliced.end());
  operands.insert(operands.end(), made.captured.begin(), made.captured.end());
  n.mark_source();
  *results = n.block().emit_all(FRL_OP_scan, attributes, operands, std::move(made.bodies));
  return n.block().status();
}

// The states of a Scan, then its stacked results.
void run_scan(ModelNode& n, const ScanShape& s, std::vector<Val>* results) {
  const onnx::GraphProto* graph = n.graph("body", s.carried.size() + s.sliced.size(), n.n_out());
  if (!graph) return;
  ImportBlock block(n.block().state(), &n.block(), "scan");
  auto entries =
      n.importer().run_graph(*graph, n.scope(), block, add_inputs(block, input_types(s)));
  if (!entries.ok()) return n.fail(std::move(entries).status());
  std::vector<Val> outputs;
  if (!tensors_of(*entries, &outputs))
    return n.unsupported("a body that gives a sequence or an optional");
  if (Status status = emit_scan(n, s, block, outputs, results); !status.ok())
    n.fail(std::move(status));
}

// A number for each of `size` values, 0 where the model says nothing.
Ints for_each(ModelNode& n, const char* name, int64_t size, bool is_flags) {
  Ints out = n.ints(name);
  if (!out.empty() && int64_t(out.size()) != size)
    n.fail(cat("attribute '", name, "': want ", size, " numbers, got ", out.size()));
  for (const int64_t each : out)
    if (is_flags && each != 0 && each != 1)
      n.fail(cat("attribute '", name, "': want 0 or 1, got ", each));
  out.resize(size_t(size), 0);
  return out;
}

// How many of n_in inputs are states, each with a result for its last value.
int64_t count_states(ModelNode& n, int64_t n_in) {
  const int64_t sliced = n.need_i("num_scan_inputs");
  if (sliced >= 1 && sliced <= n_in && n_in - sliced <= int64_t(n.n_out())) return n_in - sliced;
  n.fail(cat("num_scan_inputs: want 1 to ", n_in, ", and a result for each other input, got ",
             sliced));
  return 0;
}

void scan(ModelNode& n) {
  const int64_t carried = count_states(n, int64_t(n.n_in())), sliced = int64_t(n.n_in()) - carried,
                stacked = int64_t(n.n_out()) - carried;
  if (n.failed()) return;
  ScanShape s;
  for (int64_t i = 0; i < carried; ++i) s.carried.push_back(n.in(size_t(i)));
  s.sliced_axes = for_each(n, "scan_input_axes", sliced, false);
  s.result_axes = for_each(n, "scan_output_axes", stacked, false);
  s.sliced_reverse = for_each(n, "scan_input_directions", sliced, true);
  s.result_reverse = for_each(n, "scan_output_directions", stacked, true);
  for (int64_t i = 0; i < sliced; ++i) {
    s.sliced.push_back(n.in(size_t(carried + i)));
    int64_t& axis = s.sliced_axes[size_t(i)];
    axis = n.axis(axis, s.sliced.back().rank());
    const int64_t length = s.sliced.back().dim(axis);
    if (i == 0) s.length = length;
    if (!n.want(s.length == length, "scan inputs of one length")) return;
  }
  std::vector<Val> results;
  run_scan(n, s, &results);
  for (size_t i = 0; i < results.size(); ++i) n.out(i, results[i]);
}

// Opset 8: the first axis is the batch, the second the time; one scan for each member of the batch.
void batched_scan(ModelNode& n) {
  const int64_t n_in = int64_t(n.n_in()) - 1, carried = count_states(n, n_in),
                sliced = n_in - carried, stacked = int64_t(n.n_out()) - carried;
  if (n.has(0)) return n.unsupported("sequence_lens");
  if (!n.want(n.in(n.n_in() - 1).rank() >= 2, "scan inputs [batch, time, ..]")) return;
  const int64_t batch = n.in(n.n_in() - 1).dim(0);
  if (batch < 1 || batch > n.block().state().request.limits.n_trips)
    return n.unsupported(cat("a batch of ", batch));
  std::vector<std::vector<Val>> parts;
  for (int64_t b = 0; b < batch; ++b) {
    ScanShape s;
    const auto member = [&](int64_t i) {
      return squeeze(slice(n.in(size_t(1 + i)), 0, b, 1), {0});
    };
    for (int64_t i = 0; i < carried; ++i) s.carried.push_back(member(i));
    for (int64_t i = 0; i < sliced; ++i)
      s.sliced.push_back(member(carried + i)), s.sliced_axes.push_back(0);
    s.length = s.sliced[0].dim(0);
    s.sliced_reverse = for_each(n, "directions", sliced, true);
    s.result_axes = s.result_reverse = Ints(size_t(stacked), 0);
    std::vector<Val> results;
    run_scan(n, s, &results);
    if (n.failed()) return;
    parts.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) parts[i].push_back(unsqueeze(results[i], {0}));
  }
  for (size_t i = 0; i < parts.size(); ++i) n.out(i, concat(parts[i], 0));
}

constexpr ImportRow kRows[] = {
    {"", "If", 1, kEver, if_else, "1>..", "then_branch else_branch"},
    {"", "Scan", 8, 8, batched_scan, "2..>..", "body directions num_scan_inputs"},
    {"", "Scan", 9, kEver, scan, "1..>..",
     "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
     "scan_output_directions"},
};

}  // namespace

std::span<const ImportRow> control_rows() { return kRows; }

}  // namespace ferrule
