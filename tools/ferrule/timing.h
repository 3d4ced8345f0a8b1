// Little graphs made runnable, and their time: by the wall clock, or by the device's own where it
// has one (a simulated machine).
#pragma once

#include <memory>
#include <vector>

#include "core/session/compile.h"

namespace ferrule::cli {

double median(std::vector<double> values);

// A graph compiled, with made-up inputs and room for its outputs.
struct Runnable {
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<RunContext> context;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;

  Status run(const RunOptions& options = {}) { return context->run(from, to, options); }
};
Result<Runnable> make_runnable(const Graph& graph, const CompileContext& context);

// The context of one target alone, without lock.
CompileContext for_target(const CompileContext& all, size_t target);

// processor: the time that this process had one; of use on a machine that others use too, with
// one compute thread.
enum class Clock { wall, processor, device };
// Whose clock counts on the only target of `context`: the device's if its steps add up to
// something else than what the wall shows for the same work, else `usual`.
Result<Clock> clock_of(const CompileContext& context, Clock usual);

// A run's time by that clock.
//   units   microseconds, of one run
Result<double> time_once_us(Runnable& work, Clock clock, int64_t inner);
// Medians of samples in turn, so that what the machine does beside them falls on all.
Result<std::vector<double>> time_in_turn_us(const std::vector<Runnable*>& works, Clock clock,
                                            int64_t samples);

}  // namespace ferrule::cli
