// Faulty backends: the cpu plugin behind a wrapper that plants one fault, chosen by its file's
// name.
//
// mutant-<name>.so loads cpu.so beside it and forwards every slot. Faults of numbers rewrite the
// region before it is compiled, or touch arguments and results of a step; faults of the protocol
// replace slots or rows. Faults that need a look at single steps run in stepped queues.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "plugin-api/sdk/region.h"
#include "plugin-api/sdk/rows.h"

namespace mutant {

// A region that is about to be compiled; all of its numbers may be changed in place.
struct Edit {
  std::vector<uint64_t> words;
  frl_region* region() { return reinterpret_cast<frl_region*>(words.data()); }
  template <class T>
  T* rows(const frl_table& table) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(words.data()) + table.at);
  }
  frl_value& value(uint32_t id) { return rows<frl_value>(region()->values)[id]; }
  frl_dim* dims(const frl_value& v) { return rows<frl_dim>(region()->dims) + v.first_dim; }
  frl_attribute& attribute(uint32_t slot) {
    return rows<frl_attribute>(region()->attributes)[region()->first_attribute + slot];
  }
};

// One step of a submit, in host memory. `args` may be replaced before it runs.
struct Run {
  frl::Region region;
  std::vector<std::byte*> args;  // inputs that are there, then outputs, ...
  size_t n_inputs, n_outputs;
  uint64_t number;  // of steps run so far
  std::vector<std::vector<std::byte>> owned;

  // Operand i of the op or kind, dense elements of T; null where it is missing or of another type.
  template <class T>
  T* operand(size_t i, uint32_t type) {
    const frl::Operand o = region.operand(i);
    return o.argument >= 0 && o.value.type == type ? reinterpret_cast<T*>(args[size_t(o.argument)])
                                                   : nullptr;
  }
  template <class T>
  T* output(size_t i, uint32_t type) {
    if (i >= n_outputs || region.output(i).type != type || !region.output(i).is_dense())
      return nullptr;
    return reinterpret_cast<T*>(args[n_inputs + i]);
  }
  int64_t n(size_t output) const { return region.output(output).n_elements(); }
  // True for the lone op, or a pointwise region that holds nothing else.
  bool is(uint32_t op) const {
    if (region.kind() == op) return true;
    return region.kind() == FRL_OP_pointwise && region.n_nodes() == 1 &&
           region.node(region.body(0).first_node).op == op;
  }
  // From now on operand i reads these bytes.
  void replace(size_t i, std::vector<std::byte> bytes) {
    owned.push_back(std::move(bytes));
    args[size_t(region.operand(i).argument)] = owned.back().data();
  }
};

struct Rows {
  frl_device_row row;
  std::vector<frl_claim> claims;
  std::vector<frl_space> spaces;
  std::vector<frl_rate> rates;
  frl_cost cost;
};

// What the fault of this file does; all empty forwards everything.
struct Hooks {
  std::function<void(Rows&)> rows;
  std::function<void(frl_plugin&)> table;
  std::function<void(Edit&)> region;
  std::function<void(Run&)> before, after;
  bool stepped = false;
  // Faults of the entry.
  bool takes_any_offer = false, exact_offer = false, silent_refusal = false;
  // Faults of stepped queues.
  bool signals_early = false, ignores_timeout = false, ignores_cancel = false,
       forgets_failure = false, loses_cause = false, takes_any_wait = false, leaves_step_ns = false,
       forgets_waits_of_failed = false;
  bool wants_steps() const { return stepped || before || after; }
};

extern Hooks hooks;
extern const frl_plugin* real;  // of cpu.so
extern const frl_device_row* real_row;
const frl_device_row* own_row();

// The region that a kernel was compiled from, as the host sent it; null for a kernel that is not
// known.
std::vector<uint64_t> region_of(const frl_kernel* kernel);

int32_t fail(frl_error* error, int32_t code, const char* text, int32_t subject = -1);

// Makes a fault of the table; `below` is the table that it replaces.
extern frl_plugin below;
void on_table(Hooks& h, void (*change)(frl_plugin&));

// stepped.cc: queues that run one step at a time.
void install_stepped(frl_plugin& table);

// One function for each row of mutants.def.
#define MUTANT(name, family, glob, doc) void fault_##name(Hooks& h);
#include "tests/conformance/mutants/mutants.def"
#undef MUTANT

}  // namespace mutant
