// What the cases over the raw host share: a session of the judged device, and outcomes of statuses.
#pragma once

#include "conformance/raw/job.h"
#include "conformance/suite/case.h"

namespace ferrule::conformance::raw {

// not_claimed and unsupported are no faults; a lost device is a verdict of its own.
Outcome outcome_of(const Status& status, uint64_t judged = 1);
// An empty sentence passes.
Outcome outcome_of(const std::string& fault, uint64_t judged = 1);

// Opens the judged device, runs `check` on it, and looks at what the host noticed.
Outcome with_session(const Target& target, const std::function<Outcome(Session&)>& check,
                     SessionOptions options = {});
// The same with the first specimen that the device claims.
Outcome with_specimen(const Target& target,
                      const std::function<Outcome(Session&, const Specimen&)>& check,
                      SessionOptions options = {});

// True where the device of the target is there to be opened.
bool has_device(const Target& target);

// A number of rounds by depth.
int rounds(const Target& target, int smoke, int standard, int deep);

}  // namespace ferrule::conformance::raw

// Leaves a function that returns an Outcome with the status's, or declares what a result holds.
#define FRL_CHECK(expr)                                                                  \
  do {                                                                                   \
    auto frl_checked_ = (expr);                                                          \
    const ::ferrule::Status frl_status_ = ::ferrule::status_of(std::move(frl_checked_)); \
    if (!frl_status_.ok()) return ::ferrule::conformance::raw::outcome_of(frl_status_);  \
  } while (false)
#define FRL_HAVE(decl, expr) FRL_HAVE_(FRL_JOIN(frl_have_, __LINE__), decl, expr)
#define FRL_HAVE_(name, decl, expr)                                              \
  auto name = (expr);                                                            \
  if (!name.ok()) return ::ferrule::conformance::raw::outcome_of(name.status()); \
  decl = std::move(name).value()
