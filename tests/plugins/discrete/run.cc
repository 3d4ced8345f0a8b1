// The device's work.
#include "tests/plugins/discrete/device.h"

namespace discrete {
namespace {

float apply(uint32_t op, float a, float b) {
  switch (op) {
    case FRL_OP_relu:
      return a > 0 || a != a ? a : 0;
    case FRL_OP_neg:
      return -a;
    case FRL_OP_sub:
      return a - b;
    case FRL_OP_add:
      return a + b;
    case FRL_OP_mul:
      return a * b;
    default:
      return a;
  }
}

void run_pointwise(const Program& p, int64_t leading, char* const* args) {
  int64_t n = 1;
  for (uint32_t d = 0; d < p.rank; ++d) n *= d == 0 ? leading : p.extents[d];
  for (int64_t i = 0; i < n; ++i) {
    float value[kMostValues];
    int64_t at[kMostArgs] = {}, rest = i;
    for (uint32_t d = p.rank; d-- > 0;) {
      const int64_t extent = d == 0 ? leading : p.extents[d];
      for (uint32_t a = 0; a < p.n_args; ++a) at[a] += rest % extent * p.strides[a][d];
      rest /= extent;
    }
    std::memcpy(value, p.known, sizeof value);
    for (uint32_t a = 0; a < p.n_inputs; ++a)
      std::memcpy(&value[p.values[a]], args[a] + at[a] * 4, 4);
    for (const Member* m = p.members; m < p.members + p.n_members; ++m)
      value[m->result] = apply(m->op, value[m->a], value[m->b]);
    for (uint32_t a = p.n_inputs; a < p.n_args; ++a)
      std::memcpy(args[a] + at[a] * 4, &value[p.values[a]], 4);
  }
}

struct MatmulWork {
  const Kernel& kernel;
  int64_t m;
  const float *x, *packed;
  float *y, *stage;
};

// One worker stages the left operand in the kernel's scratch; then rows are split.
void matmul_rows(void* arg, const frl_worker* worker) {
  const auto& w = *static_cast<const MatmulWork*>(arg);
  const Program& p = w.kernel.program;
  if (worker->id == 0) std::memcpy(w.stage, w.x, uint64_t(w.m * p.k) * 4);
  host_barrier(w.kernel.device->host, worker);
  auto* line = static_cast<float*>(worker->scratch);
  for (int64_t i = worker->id; i < w.m; i += worker->n) {
    for (int64_t j = 0; j < p.n; ++j) {
      // In double, and rounded once: the claim is one eps.
      double sum = 0;
      for (int64_t t = 0; t < p.k; ++t) sum += double(w.stage[i * p.k + t]) * w.packed[j * p.k + t];
      line[j] = float(sum);
    }
    std::memcpy(w.y + i * p.n, line, uint64_t(p.n) * 4);
  }
}

}  // namespace

void run_kernel(const Kernel& kernel, char* const* args, const int64_t* extents) {
  const Program& p = kernel.program;
  const int64_t m = p.symbol && extents ? extents[p.symbol - 1] : p.m;
  const auto* x = reinterpret_cast<const float*>(args[0]);
  if (p.kind == FRL_OP_matmul) {
    MatmulWork work{kernel,
                    m,
                    x,
                    reinterpret_cast<const float*>(args[1]),
                    reinterpret_cast<float*>(args[2]),
                    reinterpret_cast<float*>(args[3])};
    host_team(kernel.device->host, 2, uint64_t(p.n) * 4, matmul_rows, &work);
  } else if (p.kind == FRL_OP_nonzero) {
    auto *y = reinterpret_cast<int64_t*>(args[1]), *written = reinterpret_cast<int64_t*>(args[2]);
    written[0] = 0;
    for (int64_t i = 0; i < m; ++i)
      if (x[i] != 0) y[written[0]++] = i;
  } else {
    run_pointwise(p, m, args);
  }
}

void run_pack(const Kernel& kernel, const char* source, char* target) {
  const Program& p = kernel.program;
  for (int64_t i = 0; i < p.k; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      std::memcpy(target + (j * p.k + i) * 4, source + (i * p.n + j) * 4, 4);
}

}  // namespace discrete
