// Faults of rows, slots and the process: each replaces what it needs of the table.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/conformance/mutants/mutant.h"

namespace mutant {
namespace {

std::atomic<const frl_host*> last_host;  // that a device was opened with

int32_t FRL_CALL open_and_remember(const frl_host* host, const frl_device_row* row,
                                   frl_device** out, frl_error* error) {
  last_host = host;
  return below.open(host, row, out, error);
}
void* block_of_host(uint64_t bytes) {
  const frl_host* host = last_host;
  return host->alloc(host->self, bytes, 64);
}

using Refuses = bool (*)(const frl::Region&);
Refuses refuses;
int32_t FRL_CALL compile_less(frl_device* d, const frl_region* r, const frl_compile* q,
                              frl_kernel** out, frl_error* e) {
  if (refuses(frl::Region(r))) return fail(e, FRL_NOT_CLAIMED, "compile: not this one");
  return below.compile(d, r, q, out, e);
}
void compiles_less(Hooks& h, Refuses which) {
  refuses = which;
  on_table(h, [](frl_plugin& t) { t.compile = compile_less; });
}

// Something that happens on the side of each compile.
void (*aside)();
int32_t FRL_CALL compile_aside(frl_device* d, const frl_region* r, const frl_compile* q,
                               frl_kernel** out, frl_error* e) {
  aside();
  return below.compile(d, r, q, out, e);
}
void compiles_and(Hooks& h, void (*what)()) {
  aside = what;
  on_table(h, [](frl_plugin& t) { t.compile = compile_aside; });
}
int32_t FRL_CALL open_aside(const frl_host* host, const frl_device_row* row, frl_device** out,
                            frl_error* e) {
  const int32_t code = open_and_remember(host, row, out, e);
  aside();
  return code;
}
void opens_and(Hooks& h, void (*what)()) {
  aside = what;
  on_table(h, [](frl_plugin& t) { t.open = open_aside; });
}

}  // namespace

frl_plugin below;

void on_table(Hooks& h, void (*change)(frl_plugin&)) {
  h.table = [change](frl_plugin& table) {
    below = table;
    table.open = open_and_remember;
    change(table);
  };
}

// ---- claims ----
void fault_overclaims_type(Hooks& h) {
  compiles_less(h, [](const frl::Region& r) {
    return r.kind() == FRL_OP_softmax && r.input(0).type == FRL_F64;
  });
}
void fault_overclaims_rank(Hooks& h) {
  compiles_less(h, [](const frl::Region& r) {
    return r.kind() == FRL_OP_log_softmax && r.input(0).rank >= 5;
  });
}
void fault_overclaims_nodes(Hooks& h) {
  compiles_less(
      h, [](const frl::Region& r) { return r.kind() == FRL_OP_pointwise && r.n_nodes() > 100; });
}

void fault_claims_change(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.devices = [](const frl_host* host, frl_rows* out, frl_error* e) {
      static std::atomic<int> calls{0};
      static frl_device_row fewer;
      const int32_t code = below.devices(host, out, e);
      if (code || ++calls < 10) return code;  // the loader looks twice and no more
      fewer = *own_row();
      --fewer.claims.n;
      *out = {&fewer, 1, sizeof fewer};
      return int32_t(FRL_OK);
    };
  });
}
void fault_claims_by_process(Hooks& h) {
  h.rows = [](Rows& rows) { rows.claims[0].max_nodes = 128 + uint32_t(getpid()) % 100'000; };
}
void fault_unknown_members(Hooks& h) {
  h.rows = [](Rows& rows) {
    static std::vector<uint32_t> members;
    for (uint32_t i = 0; i < rows.claims[0].members.n; ++i)
      members.push_back(frl::row<uint32_t>(rows.claims[0].members, i));
    members.push_back(FRL_OP_END + 17);
    rows.claims[0].members = frl::rows(members);
  };
}
void fault_empty_group(Hooks& h) {
  h.rows = [](Rows& rows) {
    static std::vector<frl_operand> operands;
    for (frl_claim& claim : rows.claims) {
      if (claim.op != FRL_OP_matmul || !operands.empty()) continue;
      for (uint32_t i = 0; i < claim.operands.n; ++i)
        operands.push_back(frl::row<frl_operand>(claim.operands, i));
      operands[0].types = FRL_BIT(FRL_F32), operands[1].types = FRL_BIT(FRL_F64);
      claim.operands = frl::rows(operands);
    }
  };
}
void fault_rate_missing(Hooks& h) {
  h.rows = [](Rows& rows) {
    std::erase_if(rows.rates, [](const frl_rate& r) { return r.type == FRL_F16; });
  };
}
void fault_costs_hundredfold(Hooks& h) {
  h.rows = [](Rows& rows) { rows.cost.dispatch_ps *= 100; };
}
void fault_copies_hundredfold(Hooks& h) {
  h.rows = [](Rows& rows) { rows.cost.to_device_ps_per_kib *= 100; };
}

// ---- the line ----
void fault_size_equality(Hooks& h) { h.exact_offer = true; }
void fault_minor_ignored(Hooks& h) { h.takes_any_offer = true; }
void fault_range_unnamed(Hooks& h) { h.silent_refusal = true; }
void fault_slot_missing(Hooks& h) {
  on_table(h, [](frl_plugin& t) { t.drop_recording = nullptr; });
}
void fault_telemetry_overruns(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.telemetry = [](const frl_device* d, frl_telemetry* out) {
      const frl_head head = out->head;
      out->head = {sizeof *out, FRL_TAG_TELEMETRY};
      below.telemetry(d, out);
      out->head = head;
    };
  });
}
void fault_tag_missing(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.open_queue = [](frl_device* d, frl_queue** out, frl_error* e) {
      const int32_t code = below.open_queue(d, out, e);
      if (code == FRL_OK) (*out)->head.tag = 0;
      return code;
    };
  });
}
void fault_error_left_alone(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.wait = [](const frl_queue* q, uint64_t value, uint64_t timeout_ns, frl_error*) {
      frl_error mine{};
      return below.wait(q, value, timeout_ns, &mine);
    };
  });
}

// ---- life ----
void fault_host_after_quiesce(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.open = [](const frl_host* host, const frl_device_row* row, frl_device** out, frl_error* e) {
      static const frl_host* first = host;
      if (first != host) first->log(first->self, 3, "opened again", 12);
      return below.open(host, row, out, e);
    };
  });
}
void fault_exit_hook(Hooks& h) {
  opens_and(h, [] { std::atexit([] { _exit(3); }); });
}
void fault_block_kept_by_close(Hooks& h) {
  opens_and(h, [] { block_of_host(64); });
}

// ---- queues ----
void fault_early_signal(Hooks& h) { h.stepped = h.signals_early = true; }
void fault_timeout_ignored(Hooks& h) { h.stepped = h.ignores_timeout = true; }
void fault_cancel_ignored(Hooks& h) { h.stepped = h.ignores_cancel = true; }
void fault_failure_forgotten(Hooks& h) { h.stepped = h.forgets_failure = true; }
void fault_first_cause_lost(Hooks& h) { h.stepped = h.loses_cause = true; }
void fault_any_wait_taken(Hooks& h) { h.stepped = h.takes_any_wait = true; }
void fault_failure_stays_home(Hooks& h) { h.stepped = h.forgets_waits_of_failed = true; }
void fault_step_times_left(Hooks& h) { h.stepped = h.leaves_step_ns = true; }

// ---- memory ----
namespace {
// make_buffer with a request that the fault may change, or an answer of its own.
using Make = int32_t (*)(frl_device*, frl_space_request&, frl_buffer**, frl_error*);
Make make;
void makes(Hooks& h, Make how) {
  make = how;
  on_table(h, [](frl_plugin& t) {
    t.make_buffer = [](frl_device* d, const frl_space_request* q, frl_buffer** out, frl_error* e) {
      frl_space_request mine = *q;
      return make(d, mine, out, e);
    };
  });
}

constexpr uint64_t kShift = 8;
std::mutex shifting;
std::set<frl_buffer*> shifted;
void shift(frl_buffer* b, int64_t by) {
  b->host = static_cast<char*>(b->host) + by;
  b->address += uint64_t(by), b->bytes -= uint64_t(by);
}
}  // namespace

void fault_zero_bytes_null(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    return q.bytes ? below.make_buffer(d, &q, out, e)
                   : fail(e, FRL_NO_MEMORY, "buffer: want bytes", 0);
  });
}
void fault_misaligned_buffer(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    if (!q.import_address && q.bytes < UINT64_MAX / 2) q.bytes += kShift;
    const int32_t code = below.make_buffer(d, &q, out, e);
    if (code || q.import_address) return code;
    const std::lock_guard lock(shifting);
    shifted.insert(*out), shift(*out, kShift);
    return code;
  });
  const auto with_make = h.table;
  h.table = [with_make](frl_plugin& t) {
    with_make(t);
    t.drop_buffer = [](frl_buffer* b) {
      {
        const std::lock_guard lock(shifting);
        if (shifted.erase(b)) shift(b, -int64_t(kShift));
      }
      below.drop_buffer(b);
    };
  };
}
void fault_largest_exceeded(Hooks& h) {
  h.rows = [](Rows& rows) { rows.spaces[0].max_alloc_bytes = 1 << 20; };
}
void fault_any_space_taken(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    q.space = 0;
    return below.make_buffer(d, &q, out, e);
  });
}
void fault_import_copied(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    const void* source = reinterpret_cast<const void*>(q.import_address);
    q.import_address = 0;
    const int32_t code = below.make_buffer(d, &q, out, e);
    if (code == FRL_OK && source) std::memcpy((*out)->host, source, q.bytes);
    return code;
  });
}

// ---- little memory, many rounds ----
void fault_failure_swallowed(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    frl_error mine{};
    *out = nullptr;
    const int32_t code = below.make_buffer(d, &q, out, &mine);
    if (code && code != FRL_NO_MEMORY) *e = mine;
    return code == FRL_NO_MEMORY ? int32_t(FRL_OK) : code;
  });
}
void fault_failed_try_kept(Hooks& h) {
  makes(h, [](frl_device* d, frl_space_request& q, frl_buffer** out, frl_error* e) {
    const int32_t code = below.make_buffer(d, &q, out, e);
    if (code) block_of_host(64);
    return code;
  });
}
void fault_team_failure_hidden(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.open = [](const frl_host* host, const frl_device_row* row, frl_device** out, frl_error* e) {
      static decltype(frl_host::team) inner;
      auto* mine = new frl_host(*host);  // lives as long as devices may
      mine->head.size = sizeof *mine;
      inner = host->team;
      mine->team = [](void* self, uint32_t wanted, uint64_t scratch,
                      void (*fn)(void*, const frl_worker*), void* arg) {
        inner(self, wanted, scratch, fn, arg);
        return int32_t(FRL_OK);
      };
      return below.open(mine, row, out, e);
    };
  });
}
void fault_host_bytes_leaked(Hooks& h) {
  compiles_and(h, [] { block_of_host(64); });
}
void fault_heap_leaked(Hooks& h) {
  compiles_and(h, [] {
    static std::atomic<void*> kept;
    kept = std::malloc(48);
  });
}
void fault_descriptor_leaked(Hooks& h) {
  opens_and(h, [] { [[maybe_unused]] const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}
void fault_thread_left(Hooks& h) {
  compiles_and(h, [] { std::thread([] { pause(); }).detach(); });
}
void fault_prints(Hooks& h) {
  compiles_and(h, [] { std::puts("compiling"), std::fflush(stdout); });
}
void fault_fp_control_changed(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.submit = [](frl_queue* q, const frl_submit* s, frl_error* e) {
      const int32_t code = below.submit(q, s, e);
#if defined(__x86_64__)
      _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
      return code;
    };
  });
}
void fault_locale_changed(Hooks& h) {
  compiles_and(h, [] { std::setlocale(LC_ALL, "C.UTF-8"); });
}
void fault_signal_handler_set(Hooks& h) {
  opens_and(h, [] { ::signal(SIGUSR1, [](int) {}); });
}

}  // namespace mutant
