// Loop: one scan if its length is known and its body always the same, else unrolled if its
// condition is known for every trip, else a while.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/bodies.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

struct Loop {
  const onnx::GraphProto* body = nullptr;
  int64_t trips = -1;    // -1: not known
  Val limit, condition;  // none where the model gives none
  std::vector<Entry> carried;
  size_t n_results() const { return body->outputs.size() - 1 - carried.size(); }  // stacked ones
};

// The number of trips as far as it is known before the first one.
bool read_loop(ModelNode& n, Loop* loop) {
  loop->body = n.graph("body", n.n_in(), n.n_out() + 1);
  if (!loop->body) return false;
  for (size_t i = 2; i < n.n_in(); ++i) loop->carried.push_back(n.entry(i));
  if (!n.want(n.n_out() >= loop->carried.size(), "a result for each carried value")) return false;
  loop->limit = n.maybe(0), loop->condition = n.maybe(1);
  const auto is_one = [](Val x, Type type) {
    return !x.ok() || (x.element() == type && x.n_elements() == 1);
  };
  if (!n.want(is_one(loop->limit, Type::i64) && is_one(loop->condition, Type::boolean),
              "one i64 as trip count and one bool as condition"))
    return false;
  Tensor tensor;
  if (loop->limit.ok() && n.knowable(loop->limit, &tensor))
    loop->trips = std::max<int64_t>(tensor.at_i64(0), 0);
  if (loop->condition.ok() && !n.failed()) {
    if (!n.knowable(loop->condition, &tensor))
      loop->trips = -1;
    else if (tensor.at_i64(0) == 0)
      loop->trips = 0;
    else
      loop->condition = {};
  }
  return !n.failed();
}

// What a trip leaves for the next one has the types that it came with; shapes may change.
Status check_next(const Loop& loop, const std::vector<Entry>& outputs) {
  const Val go_on = outputs[0].value;
  if (go_on.element() != Type::boolean || go_on.n_elements() != 1)
    return Status(Code::invalid_argument,
                  cat("condition of the body: want one bool, got ", entry_text(outputs[0])));
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const Entry &was = loop.carried[i], &is = outputs[1 + i];
    if (was.kind == Entry::Kind::absent || is.kind == Entry::Kind::absent) continue;
    if (was.value.element() != is.value.element())
      return Status(Code::invalid_argument,
                    cat("carried value ", i, ": want the type that it has before, ",
                        entry_text(was), ", got ", entry_text(is)));
  }
  return {};
}

// The body with its trip, its condition (unless that is true in every trip) and its carried values
// as inputs.
struct Step {
  ImportBlock block;
  std::vector<TensorType> types;
  std::vector<Val> inputs, outputs;  // outputs: condition, carried, results
  Status status;
  size_t first_carried = 1;

  Step(ModelNode& n, const Loop& loop, bool counted)
      : block(n.block().state(), &n.block(), "loop") {
    const Shape shape = loop.condition.ok() ? loop.condition.shape() : Shape{};
    types = {{Type::i64, {}}};
    if (!counted) types.push_back({Type::boolean, shape});
    first_carried = types.size();
    for (const Entry& entry : loop.carried) types.push_back(entry.value.type());
    std::vector<Entry> entries;
    for (const TensorType& type : types) {
      inputs.push_back(block.at(block.graph().add_input(type, cat("in", entries.size()))));
      entries.push_back(Entry::of(inputs.back()));
    }
    if (counted)
      entries.insert(entries.begin() + 1,
                     Entry::of(block.literal(Tensor::scalar(Type::boolean, 1))));
    auto made = n.importer().run_graph(*loop.body, n.scope(), block, entries);
    if (!made.ok())
      status = std::move(made).status();
    else if (status = check_next(loop, *made); status.ok() && !tensors_of(*made, &outputs))
      status = Status(Code::unsupported, "the body gives a sequence or an optional");
    if (status.ok() && !keeps_types())
      status =
          Status(Code::unsupported, "the carried values change their shapes from trip to trip");
  }

  bool keeps_types() const {
    for (size_t i = first_carried; i < types.size(); ++i)
      if (outputs[1 + i - first_carried].type() != types[i]) return false;
    return true;
  }
  // Each trip says that there is another.
  bool is_counted() const {
    const Tensor* known = block.graph().literal(outputs[0].id);
    return known && known->at_i64(0) != 0;
  }
  Val next_trip() { return inputs[0] + 1.0; }
};

Status as_scan(ModelNode& n, const Loop& loop, Step& step) {
  std::vector<Val> outputs = {step.next_trip()},
                   operands = {n.block().literal(Tensor::scalar(Type::i64, 0))};
  outputs.insert(outputs.end(), step.outputs.begin() + 1, step.outputs.end());
  for (const Entry& entry : loop.carried) operands.push_back(entry.value);
  Ints axes;
  for (size_t i = operands.size(); i < outputs.size(); ++i) axes.push_back(-outputs[i].rank() - 1);
  Attributes attributes(FRL_OP_scan);
  attributes.set_i(FRL_AT_scan_carried, int64_t(operands.size()))
      .set_i(FRL_AT_scan_length, loop.trips);
  attributes.set_list(FRL_AT_scan_axes, axes);
  ImportBlock* const blocks[] = {&step.block};
  const std::vector<Val> given[] = {outputs};
  FRL_LET(Bodies made, close_bodies(blocks, given, step.types));
  operands.insert(operands.end(), made.captured.begin(), made.captured.end());
  n.mark_source();
  const auto results =
      n.block().emit_all(FRL_OP_scan, attributes, operands, std::move(made.bodies));
  for (size_t i = 1; i < results.size(); ++i) n.out(i - 1, results[i]);
  return n.block().status();
}

// Every trip in turn, in the block itself. False, without failing, if a condition is not known: one
// that depends on inputs is asked for only if `want`, for then each value has an executable of its
// own.
bool unrolled(ModelNode& n, const Loop& loop, bool want, Status* why) {
  const int64_t most = n.block().state().request.limits.n_trips;
  std::vector<Entry> carried = loop.carried;
  std::vector<std::vector<Val>> results(loop.n_results());
  const auto stop = [&](Status status) { return *why = std::move(status), false; };
  for (int64_t trip = 0; loop.trips < 0 || trip < loop.trips; ++trip) {
    if (trip == most)
      return stop(Status(Code::out_of_limits, cat("want at most ", most, " trips to unroll")));
    std::vector<Entry> inputs = {
        Entry::of(n.block().literal(Tensor::scalar(Type::i64, double(trip)))),
        Entry::of(n.block().literal(Tensor::scalar(Type::boolean, 1)))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    auto outputs = n.importer().run_graph(*loop.body, n.scope(), n.block(), inputs);
    if (!outputs.ok()) return stop(std::move(outputs).status());
    if (Status status = check_next(loop, *outputs); !status.ok()) return stop(std::move(status));
    carried.assign(outputs->begin() + 1, outputs->begin() + 1 + int64_t(carried.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      const Entry& slice = (*outputs)[1 + carried.size() + i];
      if (slice.kind != Entry::Kind::tensor)
        return stop(Status(Code::unsupported, "a stacked result that is not a tensor"));
      results[i].push_back(unsqueeze(slice.value, {0}));
    }
    Tensor go_on;
    const Val next = outputs->front().value;
    if (!(want ? n.knowable(next, &go_on) : n.try_known(next, &go_on)))
      return stop(Status(Code::unsupported, "its condition depends on data"));
    if (go_on.at_i64(0) == 0) break;
  }
  for (size_t i = 0; i < carried.size(); ++i) n.out(i, carried[i]);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].empty())
      return stop(Status(Code::unsupported, "no trip gives the shape of its stacked results"));
    n.out(carried.size() + i, concat(results[i], 0));
  }
  return !n.failed();
}

// Carried: the trip, the condition, the model's own.
Status as_while(ModelNode& n, const Loop& loop, Step& step) {
  if (loop.n_results() > 0)
    return Status(
        Code::unsupported,
        "its number of trips depends on data, and so do the extents of its stacked results");
  ImportBlock test(n.block().state(), &n.block(), "while");
  std::vector<Val> inputs;
  for (const TensorType& type : step.types)
    inputs.push_back(test.at(test.graph().add_input(type, cat("in", inputs.size()))));
  Val go_on = reshape(inputs[1], {});
  if (loop.limit.ok())
    go_on =
        apply(FRL_OP_logical_and, go_on,
              apply(FRL_OP_less, inputs[0], reshape(cast(test.bring(loop.limit), Type::i64), {})));
  if (test.failed()) return test.status();
  std::vector<Val> outputs = {step.next_trip(), reshape(step.outputs[0], inputs[1].dims())};
  outputs.insert(outputs.end(), step.outputs.begin() + 1, step.outputs.end());
  if (step.block.failed()) return step.block.status();
  ImportBlock* const blocks[] = {&test, &step.block};
  const std::vector<Val> given[] = {{go_on}, outputs};
  FRL_LET(Bodies made, close_bodies(blocks, given, step.types));
  std::vector<Val> operands = {
      n.block().literal(Tensor::scalar(Type::i64, 0)),
      loop.condition.ok() ? loop.condition : n.block().literal(Tensor::scalar(Type::boolean, 1))};
  for (const Entry& entry : loop.carried) operands.push_back(entry.value);
  Attributes attributes(FRL_OP_while);
  attributes.set_i(FRL_AT_while_carried, int64_t(operands.size()));
  attributes.set_i(FRL_AT_while_max_trips, std::max<int64_t>(loop.trips, 0));
  operands.insert(operands.end(), made.captured.begin(), made.captured.end());
  n.mark_source();
  const auto results =
      n.block().emit_all(FRL_OP_while, attributes, operands, std::move(made.bodies));
  for (size_t i = 2; i < results.size(); ++i) n.out(i - 2, results[i]);
  return n.block().status();
}

void loop(ModelNode& n) {
  Loop loop;
  if (!read_loop(n, &loop)) return;
  const bool tensors = std::ranges::all_of(
      loop.carried, [](const Entry& entry) { return entry.kind == Entry::Kind::tensor; });
  Status why, why_not_unrolled;
  if (tensors) {
    Step step(n, loop, true);
    why = step.status;
    if (n.asks()) return n.fail(std::move(why));
    if (why.ok() && loop.trips >= 0 && step.is_counted())
      why = as_scan(n, loop, step);
    else if (why.ok())
      why = Status(Code::unsupported, "its condition depends on data");
    if (!n.failed() && why.ok()) return;
    n.forget();
  }
  const bool may_unroll = !loop.condition.ok() || loop.trips == 0;
  if (may_unroll && unrolled(n, loop, false, &why_not_unrolled)) return;
  if (n.asks()) return;
  n.forget();
  if (tensors) {
    Step step(n, loop, false);
    if (step.status.ok()) why = as_while(n, loop, step);
    if (why.ok()) return;
    n.forget();
  } else {
    why = may_unroll
              ? why_not_unrolled
              : Status(Code::unsupported, "it carries a sequence, and its trips depend on data");
  }
  if (!may_unroll || !unrolled(n, loop, true, &why_not_unrolled)) n.fail(std::move(why));
}

constexpr ImportRow kRows[] = {{"", "Loop", 1, kEver, loop, "3..>.. 11:2..>..", "body"}};

}  // namespace

std::span<const ImportRow> loop_rows() { return kRows; }

}  // namespace ferrule
