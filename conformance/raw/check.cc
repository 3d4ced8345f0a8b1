#include "conformance/raw/check.h"

namespace ferrule::conformance::raw {

Outcome outcome_of(const Status& status, uint64_t judged) {
  if (status.ok()) return pass(judged);
  if (status.code() == Code::not_claimed || status.code() == Code::unsupported)
    return {Verdict::not_claimed, status.message()};
  if (status.code() == Code::device_lost) return {Verdict::device_lost, status.message()};
  return fail(status.message());
}

Outcome outcome_of(const std::string& fault, uint64_t judged) {
  return fault.empty() ? pass(judged) : fail(fault);
}

Outcome with_session(const Target& target, const std::function<Outcome(Session&)>& check,
                     SessionOptions options) {
  options.device = target.device;
  auto session = Session::open(target.path, std::move(options));
  if (!session.ok()) return outcome_of(session.status());
  Outcome out = check(**session);
  if (out.verdict == Verdict::pass)
    if (const std::string misuse = (*session)->misuse(); !misuse.empty()) return fail(misuse);
  return out;
}

Outcome with_specimen(const Target& target,
                      const std::function<Outcome(Session&, const Specimen&)>& check,
                      SessionOptions options) {
  return with_session(
      target,
      [&](Session& session) {
        const auto first = specimen(session);
        return first.ok() ? check(session, *first) : outcome_of(first.status());
      },
      std::move(options));
}

bool has_device(const Target& target) {
  return target.driver && target.device < target.driver->devices().size() &&
         target.row().state == FRL_DEVICE_PRESENT;
}

int rounds(const Target& target, int smoke, int standard, int deep) {
  return target.depth == Depth::smoke ? smoke : target.depth == Depth::standard ? standard : deep;
}

}  // namespace ferrule::conformance::raw
