// A graph on one queue: a kernel for each node, memory for each value, recorded once.
#pragma once

#include <map>

#include "conformance/raw/specimen.h"

namespace ferrule::conformance::raw {

struct JobOptions {
  bool late = true;  // the graph's inputs and outputs are bound at each submit, else fixed
  CompileOptions compile;
  uint32_t repeats = 1;    // how often the steps follow each other in the segment
  uint32_t more_late = 0;  // late bindings beyond those that are used
  const frl_kernel* kernel =
      nullptr;  // of a graph with one node: somebody's own, which outlives the job
};

class Job {
 public:
  // Compiles, packs what kernels want packed, uploads parameters, records.
  static Result<std::unique_ptr<Job>> make(Session& session, Queue& queue, const Graph& graph,
                                           const JobOptions& options = {});

  // Upload, run, download, each a submit of its own, in order on the queue; waits for the last.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  Status upload(std::span<const Tensor> inputs);
  Result<std::vector<Tensor>> download();
  std::vector<frl_copy> uploads(std::span<const Tensor> inputs);
  Status wipe();  // zeros the outputs
  // The outputs through their host addresses: host-visible spaces only.
  std::vector<Tensor> seen();
  // The run alone, ready for submit; bindings are filled.
  Request request() const;

  size_t n_steps() const { return n_steps_; }
  const std::vector<const frl_kernel*>& kernels() const { return kernels_; }
  const frl_recording* recording() const { return recording_.get(); }

 private:
  Job(Session& session, Queue& queue, const Graph& graph)
      : session_(session), queue_(queue), graph_(graph) {}
  Status compile(const JobOptions& options);
  Status make_memory();
  Status place_parameters();
  Status record(const JobOptions& options);
  Status add_step(size_t node, uint32_t repeats);
  Status pack(size_t node, SegmentRows& rows);
  uint32_t binding_of(ValueId value);
  uint32_t fixed(const Held<frl_buffer>& buffer);

  Session& session_;
  Queue& queue_;
  const Graph graph_;
  std::vector<Held<frl_kernel>> own_kernels_;
  std::vector<const frl_kernel*> kernels_;  // of each node
  std::map<ValueId, Held<frl_buffer>> buffers_;
  std::vector<Held<frl_buffer>> extra_;  // packs and scratch
  std::vector<ValueId> late_;            // which value each late binding is
  std::map<std::pair<size_t, uint32_t>, const frl_buffer*> packed_;  // node, input
  uint32_t more_late_ = 0;
  SegmentRows segment_;
  Held<frl_recording> recording_;
  size_t n_steps_ = 0;
};

// Compiles and runs the specimen once on a queue of its own; ok if the results are right.
Status runs_right(Session& session, const Specimen& specimen);
// The same for the device's first specimen.
Status runs_right(Session& session);

}  // namespace ferrule::conformance::raw
