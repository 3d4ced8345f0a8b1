#include "conformance/families/stopwatch.h"

#include "conformance/raw/state.h"

namespace ferrule::conformance {
namespace {

using Clock = std::chrono::steady_clock;

double ps_since(Clock::time_point start) {
  return double(std::chrono::nanoseconds(Clock::now() - start).count()) * 1000;
}

}  // namespace

Result<Fastest> fastest(const std::vector<Trial>& kinds,
                        const std::function<bool(const std::vector<Measured>&)>& enough) {
  const auto start = Clock::now();
  const uint64_t waited_before = raw::ns_in_line();
  Fastest out;
  for (const Trial& trial : kinds) {
    FRL_TRY(trial().status());  // the first one warms up
    FRL_LET(const Measured first, trial());
    out.best.push_back(first);
  }
  for (out.trials = 1; out.trials < kMostTrials; ++out.trials) {
    const double elapsed_ps = ps_since(start);
    out.waited = double(raw::ns_in_line() - waited_before) * 1000 / elapsed_ps;
    const double most = out.is_busy() ? kBusySeconds : kTrialsSeconds;
    if (out.trials >= kLeastTrials && (enough(out.best) || elapsed_ps > most * 1e12)) break;
    for (size_t i = 0; i < kinds.size(); ++i) {
      FRL_LET(const Measured next, kinds[i]());
      out.best[i].wall_ps = std::min(out.best[i].wall_ps, next.wall_ps);
      out.best[i].own_ps = std::min(out.best[i].own_ps, next.own_ps);
    }
  }
  return out;
}

Status upload_ramps(raw::Job& job, const Graph& graph) {
  std::vector<Tensor> inputs;
  int seed = 0;
  for (ValueId id : graph.inputs()) inputs.push_back(raw::ramp(graph.type(id), ++seed));
  return job.upload(inputs);
}

Trial time_call(std::function<Status()> call) {
  return [call = std::move(call)]() -> Result<Measured> {
    const auto start = Clock::now();
    FRL_TRY(call());
    return Measured{ps_since(start), 0};
  };
}

Trial time_job(raw::Queue& queue, raw::Job& job, int inner) {
  return [&queue, &job, inner]() -> Result<Measured> {
    raw::Request request = job.request();
    Measured out;
    const auto start = Clock::now();
    for (int i = 0; i < inner; ++i) FRL_TRY(queue.finish(request));
    out.wall_ps = ps_since(start) / inner;
    std::vector<uint64_t> ns(job.n_steps());
    request.step_ns = ns.data();
    FRL_TRY(queue.finish(request));
    for (uint64_t each : ns) out.own_ps += double(each) * 1000;
    return out;
  };
}

Trial time_round_trip(raw::Session& session, raw::Queue& queue) {
  // The table is called directly: the suite's own bookkeeping costs more than a fast device's
  // submit.
  constexpr int kInner = 1000;
  return [&session, &queue]() -> Result<Measured> {
    const frl_plugin& table = session.table();
    auto* handle = const_cast<frl_queue*>(queue.handle());
    frl_submit request{};
    request.head = {sizeof request, FRL_TAG_SUBMIT};
    request.signal = queue.last_signal();
    frl_error error{};
    const auto start = Clock::now();
    for (int i = 0; i < kInner; ++i) {
      ++request.signal;
      if (table.submit(handle, &request, &error) ||
          table.wait(handle, request.signal, UINT64_MAX, &error))
        return Status(Code(error.code), std::string(error.text, error.text_n));
    }
    const Measured out{ps_since(start) / kInner, 0};
    queue.skip_to(request.signal);
    return out;
  };
}

}  // namespace ferrule::conformance
