// ferrule-conformance with families that do everything a case must not do.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "conformance/runner/program.h"

namespace ferrule::conformance {
namespace {

int left_behind = 0;

Outcome hang() {
  for (;;) ::pause();
}

Outcome exit_fine() { std::exit(0); }

Outcome segv() {
  std::fprintf(stderr, "about to touch nothing\n");
  std::raise(SIGSEGV);
  return pass(1);
}

// Written to, so that it is really taken.
Outcome take_memory(bool caught) {
  for (std::vector<void*> blocks;;) {
    void* p = std::malloc(16 << 20);
    if (!p && caught) throw std::bad_alloc();
    if (!p) std::abort();
    std::memset(p, 1, 16 << 20);
    blocks.push_back(p);
  }
}

// A child of the case's own keeps the pipe open and outlives it.
Outcome leave_child() {
  if (::fork() == 0)
    for (;;) ::pause();
  std::abort();
}

void list_calm(const Target&, std::vector<Case>& cases) {
  for (const char* name : {"A/calm/one", "A/calm/two"})
    cases.push_back({name, [](const Target&) { return pass(3, 0.25); }});
}

void list_bad(const Target&, std::vector<Case>& cases) {
  const auto add = [&](const char* name, Outcome (*run)()) {
    cases.push_back({name, [run](const Target&) { return run(); }});
  };
  add("F/add/f32/first", [] { return pass(10, 0.5); });
  cases.push_back({"F/add/f32/crash", [](const Target&) { return segv(); },
                   [](const Target&) { return std::string("  its region\n"); }});
  add("F/add/f32/exit", exit_fine);
  add("F/add/f32/abort", [] {
    std::abort();
    return pass(1);
  });
  add("F/add/f32/hang", hang);
  add("F/add/f32/memory", [] { return take_memory(false); });
  add("F/add/f32/caught", [] { return take_memory(true); });
  add("F/add/f32/orphan", leave_child);
  add("F/add/f32/nothing", [] { return pass(0); });
  add("F/add/f32/throw", []() -> Outcome { throw std::runtime_error("oh <b>& \x01"); });
  add("F/add/f64/refused", []() -> Outcome { return {Verdict::not_claimed, "f64", 0, 0}; });
  add("F/add/f32/last", [] { return pass(10); });
}

// Cases that pass alone and not after another.
void list_state(const Target&, std::vector<Case>& cases) {
  const auto add = [&](const char* name, std::function<Outcome()> run) {
    cases.push_back({name, [run](const Target&) { return run(); }});
  };
  for (const char* name : {"G/pointwise/a", "G/pointwise/b", "G/pointwise/c"})
    add(name, [] { return pass(1); });
  add("G/pointwise/litters", [] { return left_behind = 1, pass(1); });
  for (const char* name : {"G/pointwise/d", "G/pointwise/e", "G/pointwise/f"})
    add(name, [] { return pass(1); });
  add("G/pointwise/trips", [] { return left_behind ? segv() : pass(1); });
  add("G/pointwise/wrong", [] { return left_behind ? fail("y[3]: want 1, got 2") : pass(1); });
}

// The first passes in this order, and in hardly any other.
void list_order(const Target&, std::vector<Case>& cases) {
  cases.push_back(
      {"H/order/trips", [](const Target&) { return left_behind ? fail("litter") : pass(1); }});
  for (int i = 0; i < 9; ++i)
    cases.push_back({"H/order/litters" + std::to_string(i),
                     [](const Target&) { return left_behind = 1, pass(1); }});
}

// Bad outside of any case: when the process ends.
void list_ending(const Target&, std::vector<Case>& cases) {
  cases.push_back(
      {"C/exit/late", [](const Target&) { return std::atexit([] { std::abort(); }), pass(1); }});
}

void list_unlistable(const Target&, std::vector<Case>& cases) {
  cases.push_back({"D/list/never", [](const Target&) { return pass(1); }});
  std::abort();
}

void list_warning(const Target&, std::vector<Case>& cases) {
  cases.push_back({"R/cost/slow", [](const Target&) -> Outcome {
                     return {Verdict::quality_warning, "ten times slower than claimed", 1, 0};
                   }});
}

void list_hanging(const Target&, std::vector<Case>& cases) {
  for (int i = 0; i < 12; ++i)
    cases.push_back({"L/hang/" + std::to_string(i), [](const Target&) { return hang(); }});
}

constexpr Family kFamilies[] = {
    {'A', "calm", 0, "Passes", false, list_calm},
    {'C', "ending", 0, "Ends badly", true, list_ending},
    {'D', "unlistable", 1, "Cannot list", true, list_unlistable},
    {'F', "bad", 2, "Every way to die", true, list_bad},
    {'G', "state", 3, "State between cases", true, list_state},
    {'H', "order", 2, "Needs its order", true, list_order},
    {'L', "hanging", 4, "Only hangs", true, list_hanging},
    {'R', "warning", 5, "Warns", true, list_warning},
};

}  // namespace
}  // namespace ferrule::conformance

int main(int argc, char** argv) {
  return ferrule::conformance::run_program(ferrule::conformance::kFamilies, argc, argv);
}
