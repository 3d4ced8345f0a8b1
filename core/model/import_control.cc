// If, Loop and Scan.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/bodies.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

void give(ModelNode& n, const std::vector<Entry>& entries, size_t first = 0) {
  for (size_t i = 0; i < entries.size(); ++i) n.out(first + i, entries[i]);
}

void inline_branch(ModelNode& n, bool condition) {
  const onnx::GraphProto* branch = n.graph(condition ? "then_branch" : "else_branch");
  if (!branch) return;
  auto entries = n.importer().run_graph(*branch, n.scope(), n.block(), {});
  if (!entries.ok()) return n.fail(std::move(entries).status());
  give(n, *entries);
}

// Both branches as bodies; a status that says why that is not possible.
Status branch_on_device(ModelNode& n, Val condition) {
  const onnx::GraphProto* graphs[] = {n.graph("then_branch"), n.graph("else_branch")};
  if (!graphs[0] || !graphs[1]) return n.block().status();
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
  Tensor known;
  if (n.try_known(condition, &known)) return inline_branch(n, known.at_i64(0) != 0);
  Status status = branch_on_device(n, condition);
  if (status.ok()) return;
  n.forget();
  // What one branch alone cannot do may never be asked of it: the condition decides at import.
  if (n.asks() || !n.knowable(condition, &known)) return n.fail(std::move(status));
  inline_branch(n, known.at_i64(0) != 0);
}

// One scan node and the body it will have.
struct ScanShape {
  std::vector<Val> carried, sliced;
  Ints sliced_axes, sliced_reverse;  // axes from 0
  Ints result_axes, result_reverse;  // as the model gives them, one for each sliced result
  int64_t length = 0;
};

TensorType slice_type(Val whole, int64_t axis) {
  TensorType type{whole.element(), {}};
  for (int64_t i = 0; i < whole.rank(); ++i)
    if (i != axis) type.shape.push_back(whole.dim(i));
  return type;
}

std::vector<TensorType> input_types(const ScanShape& s) {
  std::vector<TensorType> types;
  for (const Val& value : s.carried) types.push_back(value.type());
  for (size_t i = 0; i < s.sliced.size(); ++i)
    types.push_back(slice_type(s.sliced[i], s.sliced_axes[i]));
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
    axes.push_back(n.axis(k < s.result_axes.size() ? s.result_axes[k] : 0, rank) - rank);
    reverse.push_back(k < s.result_reverse.size() ? s.result_reverse[k] : 0);
  }
  attributes.set_i(FRL_AT_scan_carried, int64_t(s.carried.size()))
      .set_i(FRL_AT_scan_sliced, int64_t(s.sliced.size()));
  attributes.set_i(FRL_AT_scan_length, s.length).set_list(FRL_AT_scan_axes, axes);
  if (std::any_of(reverse.begin(), reverse.end(), [](int64_t r) { return r != 0; }))
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
  const onnx::GraphProto* graph = n.graph("body");
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

bool directions(ModelNode& n, const char* name, Ints* out) {
  *out = n.ints(name);
  for (const int64_t each : *out)
    if (each != 0 && each != 1) n.fail(cat("attribute '", name, "': want 0 or 1, got ", each));
  return !n.failed();
}

void scan(ModelNode& n) {
  const int64_t sliced = n.need_i("num_scan_inputs"), carried = int64_t(n.n_in()) - sliced;
  if (!n.want(sliced >= 1 && carried >= 0, "an input for each scan input")) return;
  ScanShape s;
  for (int64_t i = 0; i < carried; ++i) s.carried.push_back(n.in(size_t(i)));
  const Ints axes = n.ints("scan_input_axes");
  s.result_axes = n.ints("scan_output_axes");
  if (!directions(n, "scan_input_directions", &s.sliced_reverse) ||
      !directions(n, "scan_output_directions", &s.result_reverse))
    return;
  s.sliced_reverse.resize(size_t(sliced), 0);
  for (int64_t i = 0; i < sliced; ++i) {
    s.sliced.push_back(n.in(size_t(carried + i)));
    s.sliced_axes.push_back(
        n.axis(size_t(i) < axes.size() ? axes[size_t(i)] : 0, s.sliced.back().rank()));
    const int64_t length = s.sliced.back().dim(s.sliced_axes.back());
    if (i == 0) s.length = length;
    if (!n.want(s.length == length, "scan inputs of one length")) return;
  }
  std::vector<Val> results;
  run_scan(n, s, &results);
  for (size_t i = 0; i < results.size(); ++i) n.out(i, results[i]);
}

// Opset 8: the first axis is the batch, the second the time; one scan for each member of the batch.
void batched_scan(ModelNode& n) {
  const int64_t sliced = n.need_i("num_scan_inputs"), carried = int64_t(n.n_in()) - 1 - sliced;
  if (n.has(0)) return n.unsupported("sequence_lens");
  if (!n.want(sliced >= 1 && carried >= 0 && n.in(n.n_in() - 1).rank() >= 2,
              "scan inputs [batch, time, ..]"))
    return;
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
    if (!directions(n, "directions", &s.sliced_reverse)) return;
    s.sliced_reverse.resize(size_t(sliced), 0);
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
