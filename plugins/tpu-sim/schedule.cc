// When each instruction starts and ends: a scoreboard of the units and the buffers between them.
#include <algorithm>

#include "plugins/tpu-sim/program.h"

namespace tpu_sim {
namespace {

enum Unit : size_t { kLoads, kStores, kArray, kVector, kUnits };

struct Slot {
  uint64_t written = 0, read = 0;  // until when, in ps
};

// Bytes that a walk over n elements of a window moves: runs of neighbours, each in whole bursts.
// What repeats along axes without a stride is moved once.
int64_t moved_bytes(const Window& w, int64_t n) {
  int64_t run = 1, runs = n > 0, left = n;
  bool joins = true;  // so far, the elements are neighbours
  for (uint32_t d = w.rank; d-- > 0;) {
    const int64_t part = std::min(w.extents[d], left);
    if (part <= 1) continue;
    left = (left + part - 1) / part;
    if (w.strides[d] == 0) continue;
    joins &= w.strides[d] == run;
    (joins ? run : runs) *= part;
  }
  const int64_t bytes = run * frl::element_bytes(w.type);
  return runs * ((bytes + kBurstBytes - 1) / kBurstBytes * kBurstBytes);
}

// The bus to HBM, which loads and stores share: each takes the first gap that is long enough.
class Bus {
 public:
  // Start of `ps` on the bus from `ready` on. No later call asks for a time before `floor`.
  uint64_t take(uint64_t ready, uint64_t ps, uint64_t floor) {
    std::erase_if(taken_, [&](const Span& s) { return s.end <= floor; });
    uint64_t start = ready;
    auto at = taken_.begin();
    for (; at != taken_.end() && at->begin < start + ps; ++at) start = std::max(start, at->end);
    if (at != taken_.begin() && std::prev(at)->end == start)
      std::prev(at)->end += ps;
    else
      taken_.insert(at, {start, start + ps});
    return start;
  }

 private:
  struct Span {
    uint64_t begin, end;
  };
  std::vector<Span> taken_;  // in order, without overlap
};

class Scoreboard {
 public:
  Scoreboard(const Machine& machine, Program& program)
      : machine_(machine), program_(program), slots_(program.buffers.size()) {}

  void run() {
    program_.busy = {};
    for (const Instruction& each : program_.code)
      std::visit([this](const auto& i) { time(i); }, each);
    program_.ps = *std::max_element(std::begin(free_), std::end(free_));
  }

 private:
  void time(const Load& i) { hbm(kLoads, moved_bytes(program_.windows[i.window], i.n), {}, i.to); }
  void time(const Store& i) {
    hbm(kStores, moved_bytes(program_.windows[i.window], i.n), {i.from}, kNoBuffer);
  }
  void time(const Patch& i) {
    if (i.what != Patch::value)  // counted by the lanes
      return lanes_for(vector_cycles(i.rows, i.columns, 2), {}, i.to);
    // Each element once that the windows see: no more than there are, no more than they ask for.
    const Geometry& g = program_.geometries[i.geometry];
    const int64_t seen =
        ((i.rows + g.taps() - 1) / g.taps()) * ((i.columns + g.out() - 1) / g.out()) * g.in();
    const int64_t elements = std::min(seen, i.rows * i.columns);
    hbm(kLoads, elements * frl::element_bytes(program_.windows[i.window].type), {}, i.to);
  }
  void time(const Sample& i) {
    const Window& w = program_.windows[i.window];
    const int64_t taps = taps_of(i), elements = std::min(i.n * taps, w.n_elements());
    hbm(kLoads, elements * frl::element_bytes(w.type), {}, i.to);
    lanes_for((i.n + kSublanes * kLanes - 1) / (kSublanes * kLanes) * 2 * taps, {i.to}, i.to);
  }
  void time(const Move& i) {
    const Window &from = program_.windows[i.from], &to = program_.windows[i.to];
    hbm(kLoads, moved_bytes(from, from.n_elements()) + moved_bytes(to, to.n_elements()), {},
        kNoBuffer);
  }
  void time(const Take& i) {
    const Window& indices = program_.windows[i.indices];
    const int64_t block = i.inner * frl::element_bytes(program_.windows[i.from].type);
    const int64_t burst = (block + kBurstBytes - 1) / kBurstBytes * kBurstBytes;
    hbm(kLoads, 2 * i.outer * i.n_indices * burst + moved_bytes(indices, indices.n_elements()), {},
        kNoBuffer);
  }
  void time(const Multiply& i) {
    const int64_t cycles = systolic_cycles(machine_, i.m, i.n, i.k) * i.passes;
    program_.busy.array_cycles += cycles;
    issue(kArray, cycles_ps(machine_, cycles + kIssueCycles),
          {i.a, i.b, i.adds ? i.acc : kNoBuffer}, i.acc,
          cycles_ps(machine_, drain_cycles(machine_)));
  }
  void time(const Lane& i) {
    const bool flat = std::all_of(i.in.begin(), i.in.end(), [](const LaneOperand& o) {
      return o.form == Form::full || o.form == Form::scalar;
    });
    // Dense rows may lie across registers where no operand cares for rows.
    const int64_t n = i.rows * i.columns, lanes = kSublanes * kLanes;
    const int64_t weight = lane_weight(i.op) + i.rounds;
    lanes_for(flat ? (n + lanes - 1) / lanes * weight : vector_cycles(i.rows, i.columns, weight),
              {i.in[0].buffer, i.in[1].buffer, i.in[2].buffer}, i.to);
  }
  void time(const Fold& i) {
    // Registers of a row are combined, then the lanes of the last one in seven halvings.
    const int64_t weight = i.by >= Folding::place_of_max ? 2 : 1;
    lanes_for(vector_cycles(i.rows, i.columns, weight) + vector_cycles(i.rows, 1, 7 * weight),
              {i.from}, i.to);
  }
  void time(const Fill& i) { lanes_for(vector_cycles(1, i.n, 1), {}, i.to); }
  void time(const Hide& i) { lanes_for(vector_cycles(i.rows, i.columns, 2), {i.to}, i.to); }

  void hbm(Unit unit, int64_t bytes, std::initializer_list<BufferId> reads, BufferId write) {
    program_.busy.hbm_bytes += bytes;
    const uint64_t ps = hbm_ps(machine_, bytes) + cycles_ps(machine_, kIssueCycles);
    const uint64_t floor = std::min(free_[kLoads], free_[kStores]);
    place(unit, bus_.take(ready(unit, reads, write), ps, floor), ps, reads, write, 0);
  }
  void lanes_for(int64_t cycles, std::initializer_list<BufferId> reads, BufferId write) {
    program_.busy.lane_cycles += cycles;
    issue(kVector, cycles_ps(machine_, cycles + kIssueCycles), reads, write);
  }
  // `latency`: from the unit's being free again to the result's being there.
  void issue(Unit unit, uint64_t ps, std::initializer_list<BufferId> reads, BufferId write,
             uint64_t latency = 0) {
    place(unit, ready(unit, reads, write), ps, reads, write, latency);
  }
  uint64_t ready(Unit unit, std::initializer_list<BufferId> reads, BufferId write) const {
    uint64_t start = free_[unit];
    for (BufferId id : reads)
      if (id != kNoBuffer) start = std::max(start, slots_[id].written);
    if (write != kNoBuffer) start = std::max({start, slots_[write].written, slots_[write].read});
    return start;
  }
  void place(Unit unit, uint64_t start, uint64_t ps, std::initializer_list<BufferId> reads,
             BufferId write, uint64_t latency) {
    const uint64_t end = start + ps;
    free_[unit] = end;
    for (BufferId id : reads)
      if (id != kNoBuffer) slots_[id].read = std::max(slots_[id].read, end);
    if (write != kNoBuffer) slots_[write].written = end + latency;
  }

  const Machine& machine_;
  Program& program_;
  std::vector<Slot> slots_;
  Bus bus_;
  uint64_t free_[kUnits] = {};
};

}  // namespace

void schedule(const Machine& machine, Program& program) { Scoreboard(machine, program).run(); }

}  // namespace tpu_sim
