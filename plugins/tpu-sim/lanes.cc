// The vector lanes: one loop for each op of lanes.def.
#include <cmath>

#include "plugins/tpu-sim/program.h"

namespace tpu_sim {
namespace {

float truth(bool x) { return x ? 1.0f : 0.0f; }
float clip_low(float a) { return a > 0 ? a : a == a ? 0.0f : a; }
float larger(float a, float b) { return a > b || a != a ? a : b; }
float lesser(float a, float b) { return a < b || a != a ? a : b; }
// The remainder with the sign of b.
float floor_mod(float a, float b) {
  const float r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

// Where the operands of one row start, and how far they move from column to column.
struct Row {
  std::array<const float*, 3> in;
  std::array<int64_t, 3> step;
  int64_t n;
  float p0, p1;
};

using Loop = void (*)(const Row& row, float* to);
struct Entry {
  Loop loop = nullptr;
  int weight = 0;
};

constexpr auto kEntries = [] {
  std::array<Entry, FRL_OP_END> out{};
#define LANE_OP(name, cost, expression)                                          \
  out[FRL_OP_##name] = {[](const Row& row, float* to) {                          \
                          const auto [sa, sb, sc] = row.step;                    \
                          [[maybe_unused]] const float p0 = row.p0, p1 = row.p1; \
                          for (int64_t i = 0; i < row.n; ++i) {                  \
                            [[maybe_unused]] const float a = row.in[0][i * sa],  \
                                                         b = row.in[1][i * sb],  \
                                                         c = row.in[2][i * sc];  \
                            to[i] = (expression);                                \
                          }                                                      \
                        },                                                       \
                        cost};
#include "plugins/tpu-sim/lanes.def"
#undef LANE_OP
  return out;
}();

}  // namespace

int lane_weight(uint32_t op) { return op < kEntries.size() ? kEntries[op].weight : 0; }

void run_lane(const Lane& lane, float* to, std::array<const float*, 3> in) {
  bool flat = true;
  for (const LaneOperand& o : lane.in) flat &= o.form == Form::full || o.form == Form::scalar;
  const int64_t rows = flat ? 1 : lane.rows, n = flat ? lane.rows * lane.columns : lane.columns;
  Row row{in, {}, n, lane.p0, lane.p1};
  for (size_t k = 0; k < 3; ++k)
    row.step[k] = lane.in[k].form == Form::full || lane.in[k].form == Form::row;
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < 3; ++k) {
      const Form form = lane.in[k].form;
      row.in[k] = in[k] + (form == Form::full ? r * n : form == Form::column ? r : 0);
    }
    float* out = to + r * n;
    kEntries[lane.op].loop(row, out);
    if (lane.rounds)
      for (int64_t i = 0; i < n; ++i) out[i] = to_bf16(out[i]);
  }
}

}  // namespace tpu_sim
