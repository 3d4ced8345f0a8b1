// Runs one node on the judged device and judges every result: what a case of most families does.
#pragma once

#include "conformance/cases/recipe.h"
#include "conformance/judge/judge.h"
#include "conformance/rig/rig.h"

namespace ferrule::conformance {

// The rig of this process for the target, opened at first use and kept: opening a device may take
// longer than all of a case. Dropped by drop_shared_rig(), or when another target comes.
Result<Rig*> shared_rig(const Target& target);
void drop_shared_rig();

// What went wrong as a verdict: a refusal is no failure of the plugin, memory none of the case.
Outcome outcome_of(const Status& status, const std::string& doing);

// Of a claimed node that failed: which one, on operands of which types, and what came.
Outcome not_run(const Graph& one_node, const Status& status);

// Node 0 of the graph on `inputs`: refused, or run, guarded and judged against the reference.
Outcome check_run(const Target& target, const Graph& one_node, std::span<const Tensor> inputs,
                  const RunOptions& options = {});
// The same, and what came out.
Outcome check_run(const Target& target, const Graph& one_node, std::span<const Tensor> inputs,
                  const RunOptions& options, RunResult* result, std::vector<Expected>* expected);

// What explain and replay show of a case: the region with its types and attributes, and how its
// tensors lie where they are not dense.
using CaseText = std::function<std::string(const Target&)>;
CaseText text_of(std::shared_ptr<const Graph> one_node, const RunOptions& options = {});

// Adds what a second check found: the worse verdict, the sum of what was judged.
void merge(Outcome& into, const Outcome& other, const std::string& what = {});

// Appends the case if the device's claims admit the graph's node, in either form.
//   run(target, graph, seed)
//   shown   layouts and bindings that `run` uses, for explain
using CaseBody = std::function<Outcome(const Target&, const Graph&, uint64_t seed)>;
void add_case(const Target& target, std::vector<Case>& cases, std::string name,
              Result<Graph> one_node, CaseBody run, const RunOptions& shown = {});
// One whose body fills the subject's inputs with data of a style and checks the run.
void add_case(const Target& target, std::vector<Case>& cases, std::string name,
              const Subject& subject, Style style, const RunOptions& options = {});

// One that runs laid out as options say; an input that repeats along an axis gets equal elements
// there.
//   check  check_run, or another of its form
using Repeats = std::vector<std::pair<size_t, size_t>>;  // input, axis
using Check = Outcome (*)(const Target&, const Graph&, std::span<const Tensor>, const RunOptions&);
void add_laid_out(const Target& target, std::vector<Case>& cases, const std::string& name,
                  const Subject& subject, const Graph& graph, const RunOptions& options,
                  Repeats repeats, Check check);

}  // namespace ferrule::conformance
