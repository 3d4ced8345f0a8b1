// N: the same bits, as each claim's determinism says: from run to run, for each number of workers,
// from another queue, after the device was opened anew.
#include <cstring>

#include "conformance/cases/check.h"
#include "conformance/cases/layout.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// Large enough that work is split between workers.
constexpr SubjectRow kLarge[] = {
    {FRL_OP_add, "large", "", "T[300000] T[300000]"},
    {FRL_OP_gelu, "large", "", "T[300,1000]"},
    {FRL_OP_mul, "bias", "", "T[500,600] T[600]"},
    {FRL_OP_reduce, "rows", "by=add axes=-1", "T[40,8193]"},
    {FRL_OP_reduce, "one_row", "by=add axes=-1", "T[1,300001]"},
    {FRL_OP_reduce, "columns", "by=add axes=-2", "T[8193,40]"},
    {FRL_OP_reduce, "all", "by=mul axes=-2,-1 keep=0", "T[301,999]"},
    {FRL_OP_cumulative, "rows", "by=add", "T[40,8193]"},
    {FRL_OP_softmax, "rows", "", "T[100,2049]"},
    {FRL_OP_layer_norm, "rows", "", "T[200,1025] T[1025] T[1025]"},
    {FRL_OP_rms_norm, "rows", "", "T[200,1025] T[1025]"},
    {FRL_OP_matmul, "cube", "", "T[129,257] T[257,131]"},
    {FRL_OP_matmul, "deep", "", "T[5,8193] T[8193,7]"},
    {FRL_OP_matmul, "row", "", "T[1,2049] T[2049,513]"},
    {FRL_OP_matmul_bias_act, "cube", "activation=gelu", "T[129,257] T[257,131] T[131]"},
    {FRL_OP_conv, "image", "pads=1,1,1,1", "T[2,16,31,33] T[24,16,3,3] T[24]"},
    {FRL_OP_conv_bias_act, "image", "pads=1,1,1,1 activation=relu",
     "T[2,16,31,33] T[24,16,3,3] T[24]"},
    {FRL_OP_attention, "heads", "", "T[2,4,65,32] T[2,4,129,32] T[2,4,129,32]"},
    {FRL_OP_transpose, "matrix", "order=-1,-2", "T[511,513]"},
    {FRL_OP_scatter_elements, "add", "axis=-1 by=add", "T[64,129] i64[64,2049]:129 T[64,2049]"},
    {FRL_OP_avg_pool, "image", "kernel=3,3 strides=2,2", "T[2,16,63,65]"},
    {FRL_OP_dft, "rows", "", "T[33,240,2]"},
    {FRL_OP_lstm, "steps", "", "T[9,3,33] T[1,68,33] T[1,68,17]"},
};

Outcome compare_bits(const RunResult& first, const RunResult& other, const std::string& when) {
  if (!other.status.ok()) return outcome_of(other.status, when);
  if (!other.damage.empty()) return fail(cat(when, ": ", other.damage));
  uint64_t judged = 0;
  for (size_t r = 0; r < first.results.size(); ++r) {
    const Tensor &a = first.results[r], &b = other.results[r];
    if (a.type() != b.type())
      return fail(cat(when, ": result ", r, ": want ", to_string(a.type()), " as before, got ",
                      to_string(b.type())));
    const int64_t width = size_bytes(a.element());
    for (int64_t i = 0; i < a.n_elements(); ++i)
      if (std::memcmp(a.bytes().data() + i * width, b.bytes().data() + i * width, size_t(width)) !=
          0)
        return fail(cat(when, ": result ", r, ", element ", i, ": want the bits of the first run, ",
                        number_text(a.at_f64(i)), ", got ", number_text(b.at_f64(i))));
    judged += uint64_t(a.n_elements());
  }
  return pass(std::max<uint64_t>(judged, 1));
}

// A rig whose host has so many workers: the file loaded anew, once a process and number.
Result<Rig*> rig_with(const Target& target, uint32_t workers) {
  struct Entry {
    std::string path;
    size_t device;
    uint32_t workers;
    std::unique_ptr<Rig> rig;
  };
  static std::vector<Entry>* const entries =
      new std::vector<Entry>;  // as shared_rig(): never closed at exit
  for (const Entry& entry : *entries)
    if (entry.path == target.path && entry.device == target.device && entry.workers == workers)
      return entry.rig.get();
  FRL_LET(auto rig, Rig::open(target, workers));
  entries->push_back({target.path, target.device, workers, std::move(rig)});
  return entries->back().rig.get();
}

Outcome compare_workers(const Target& target, uint32_t workers, const Graph& graph,
                        std::span<const Tensor> inputs, const RunResult& first) {
  const std::string when = cat("with ", workers, " workers");
  const auto rig = rig_with(target, workers);
  if (!rig.ok()) return outcome_of(rig.status(), when);
  return compare_bits(first, (*rig)->run(graph, inputs), when);
}

// Another queue of the same device.
Outcome compare_queue(const Target& target, const Graph& graph, std::span<const Tensor> inputs,
                      const RunResult& first) {
  if (target.row().max_queues < 2) return pass(0);
  const auto rig = Rig::open(target);
  if (!rig.ok()) return outcome_of(rig.status(), "second queue");
  return compare_bits(first, (*rig)->run(graph, inputs), "on a second queue");
}

// The run that others are compared with; a pass if there is one.
Outcome run_first(const Target& target, const Graph& graph, std::span<const Tensor> inputs,
                  RunResult* first) {
  const auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  if (const Refusal refusal = (*rig)->asks(graph); refusal.refused())
    return {Verdict::not_claimed, refusal.text, 1, 0};
  *first = (*rig)->run(graph, inputs);
  return first->status.ok() ? pass(0) : not_run(graph, first->status);
}

Outcome check_bits(const Target& target, const Graph& graph, std::span<const Tensor> inputs,
                   uint32_t determinism) {
  RunResult first;
  if (Outcome out = run_first(target, graph, inputs, &first); out.verdict != Verdict::pass)
    return out;
  const auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  Outcome out = pass(0);
  for (int i = 0; i < 2; ++i)
    merge(out, compare_bits(first, (*rig)->run(graph, inputs), cat("run ", i + 2)));
  RunOptions again;
  again.repeats = 3;
  merge(out,
        compare_bits(first, (*rig)->run(graph, inputs, again), "third submit of one recording"));
  merge(out, compare_queue(target, graph, inputs, first));
  if (determinism != FRL_SAME_BITS_ANY_THREADS) return out;
  for (uint32_t workers : {1u, 2u, available_processors() + 1})
    merge(out, compare_workers(target, workers, graph, inputs, first));
  return out;
}

// The device closed and opened anew, the queue with it.
Outcome check_reopened(const Target& target, const Graph& graph, std::span<const Tensor> inputs) {
  RunResult first;
  if (Outcome out = run_first(target, graph, inputs, &first); out.verdict != Verdict::pass)
    return out;
  drop_shared_rig();
  const auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "opened anew");
  return compare_bits(first, (*rig)->run(graph, inputs), "opened anew");
}

void add_bits(const Target& target, std::vector<Case>& cases, const std::string& at,
              const Subject& subject) {
  if (!target.wants(cat("N/", op_row(subject.op).name, "/", at, "/"))) return;
  const auto graph = claimed_form(target.row(), graph_of(subject, 1));
  if (!graph.ok()) return;
  const uint32_t determinism = claim_of(target.row(), *graph)->determinism;
  if (determinism == FRL_SAME_BITS_NEVER) return;
  auto shared = std::make_shared<const Graph>(*graph);
  const std::string name = cat("N/", op_row(subject.op).name, "/", at);
  cases.push_back({name + "/bits",
                   [=](const Target& t) {
                     return check_bits(
                         t, *shared,
                         inputs_of(subject, *shared, Style::data, seed_of(name, t.seed)),
                         determinism);
                   },
                   text_of(shared)});
  cases.push_back({name + "/reopened",
                   [=](const Target& t) {
                     return check_reopened(
                         t, *shared,
                         inputs_of(subject, *shared, Style::data, seed_of(name, t.seed)));
                   },
                   text_of(shared)});
}

}  // namespace

void list_determinism(const Target& target, std::vector<Case>& cases) {
  for (const SubjectRow& row : kLarge)
    for (Type type : {Type::f32, Type::f64, Type::bf16}) {
      if (target.depth == Depth::smoke && (type != Type::f32 || row.op != FRL_OP_reduce)) continue;
      if (const auto subject = subject_of(row, type); subject.ok())
        add_bits(target, cases, cat(type_name(type), "/", row.label), *subject);
    }
  if (target.depth == Depth::smoke) return;
  for (const OpRow& row : op_rows()) {
    if (row.form == Form::control || row.form == Form::open) continue;
    for (Type type : types_of(row.id)) {
      if (type != Type::f32 && type != Type::i32 && target.depth != Depth::deep) continue;
      if (!target.wants(cat("N/", row.name, "/", type_name(type), "/"))) continue;
      for (const Subject& subject : subjects_of(row.id, type))
        if (subject.is_first || target.depth == Depth::deep)
          add_bits(target, cases, cat(type_name(type), "/small_", subject.label), subject);
    }
  }
}

}  // namespace ferrule::conformance
