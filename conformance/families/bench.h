// What the cases of family J start from: the first specimen that the device claims, on a queue.
#pragma once

#include "conformance/raw/check.h"

namespace ferrule::conformance {

// A specimen on a queue of its own, inputs uploaded.
struct Bench {
  std::unique_ptr<raw::Queue> queue;
  std::unique_ptr<raw::Job> job;
};
inline Result<Bench> bench(raw::Session& session, const raw::Specimen& specimen) {
  Bench out;
  FRL_LET(out.queue, session.open_queue());
  FRL_LET(out.job, raw::Job::make(session, *out.queue, specimen.graph));
  FRL_TRY(out.job->upload(specimen.inputs));
  return out;
}

inline std::string check_results(Bench& b, const raw::Specimen& specimen) {
  const auto got = b.job->download();
  return got.ok() ? raw::differs(specimen, *got) : got.status().message();
}

using BenchCase = Outcome (*)(raw::Session&, const raw::Specimen&, Bench&);
inline void add(std::vector<Case>& cases, const char* name, BenchCase check) {
  cases.push_back({name, [check](const Target& t) {
                     return raw::with_specimen(
                         t, [check](raw::Session& session, const raw::Specimen& specimen) {
                           FRL_HAVE(Bench b, bench(session, specimen));
                           return check(session, specimen, b);
                         });
                   }});
}

// async_submit.cc: failed and cancelled queues, and what submit itself does.
void list_async_submit(std::vector<Case>& cases);

}  // namespace ferrule::conformance
