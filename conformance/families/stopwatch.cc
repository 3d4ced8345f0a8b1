#include "conformance/families/stopwatch.h"

namespace ferrule::conformance {
namespace {

using Clock = std::chrono::steady_clock;

double ps_since(Clock::time_point start) {
  return double(std::chrono::nanoseconds(Clock::now() - start).count()) * 1000;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

Status upload_ramps(raw::Job& job, const Graph& graph) {
  std::vector<Tensor> inputs;
  int seed = 0;
  for (ValueId id : graph.inputs()) inputs.push_back(raw::ramp(graph.type(id), ++seed));
  return job.upload(inputs);
}

Result<Measured> time_call(const std::function<Status()>& call) {
  std::vector<double> times;
  for (int trial = -2; trial < kTrials; ++trial) {
    const auto start = Clock::now();
    FRL_TRY(call());
    if (trial >= 0) times.push_back(ps_since(start));
  }
  return Measured{median(std::move(times)), 0};
}

Result<Measured> time_job(raw::Queue& queue, raw::Job& job, int inner) {
  const raw::Request request = job.request();
  const auto run = [&]() -> Status {
    for (int i = 0; i < inner; ++i) FRL_TRY(queue.finish(request));
    return {};
  };
  FRL_LET(Measured out, time_call(run));
  out.wall_ps /= inner;
  std::vector<uint64_t> ns(job.n_steps());
  raw::Request timed = request;
  timed.step_ns = ns.data();
  std::vector<double> own;
  for (int trial = 0; trial < 3; ++trial) {
    std::fill(ns.begin(), ns.end(), 0);
    FRL_TRY(queue.finish(timed));
    double sum = 0;
    for (uint64_t each : ns) sum += double(each) * 1000;
    own.push_back(sum);
  }
  out.own_ps = median(std::move(own));
  return out;
}

Result<Measured> time_round_trip(raw::Session& session, raw::Queue& queue) {
  // The table is called directly: the suite's own bookkeeping costs more than a fast device's
  // submit.
  constexpr int kInner = 1000;
  const frl_plugin& table = session.table();
  frl_submit request{};
  request.head = {sizeof request, FRL_TAG_SUBMIT};
  request.signal = queue.last_signal();
  const auto run = [&]() -> Status {
    frl_error error{};
    for (int i = 0; i < kInner; ++i) {
      ++request.signal;
      const auto* handle = const_cast<frl_queue*>(queue.handle());
      if (table.submit(const_cast<frl_queue*>(handle), &request, &error) ||
          table.wait(handle, request.signal, UINT64_MAX, &error))
        return Status(Code(error.code), std::string(error.text, error.text_n));
    }
    return {};
  };
  FRL_LET(Measured out, time_call(run));
  queue.skip_to(request.signal);
  out.wall_ps /= kInner;
  return out;
}

}  // namespace ferrule::conformance
