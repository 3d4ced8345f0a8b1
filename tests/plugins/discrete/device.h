// A made-up discrete device. Its memory has no host address (but for a small visible space), each
// queue has a thread, shapes may be bounded by a symbol on the leading axis, matmul wants its
// weights packed, kernels can be saved, and nonzero writes a data-dependent extent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "plugin-api/frl_plugin.h"
#include "tests/plugins/discrete/counts.h"

namespace discrete {

constexpr uint32_t kMostArgs = 12, kMostRank = 4, kMostMembers = 16, kMostValues = 64;
constexpr uint64_t kFingerprint = 0xd15c0001, kMostScratch = 1 << 20;

template <class T>
T row(const frl_rows& rows, uint64_t i) {
  T out;
  frl_row(&out, sizeof out, rows.p, rows.stride, i);
  return out;
}

struct Member {
  uint32_t op, a, b, result;  // value numbers
};

// What a kernel does; plain bytes, so that saving is copying.
struct Program {
  uint32_t kind, symbol;  // symbol: 1 + given symbol of the leading axis; 0 static
  int64_t m, n, k;        // matmul: [m, k] x [k, n]; nonzero: m elements
  uint32_t rank, n_inputs, n_args, n_members;
  int64_t extents[kMostRank], strides[kMostArgs][kMostRank];
  uint32_t values[kMostArgs];
  float known[kMostValues];
  Member members[kMostMembers];
};

struct Device : frl_device {
  const frl_host* host;
  mutable std::mutex mutex;
  frl_telemetry counts;
};
struct Kernel : frl_kernel {
  Device* device;
  Program program;
  uint64_t region_hash;
  frl_pack pack;
};
struct Buffer : frl_buffer {
  Device* device;
  char* memory;
  bool owned;
};

int32_t fail(frl_error* error, int32_t code, const char* text, int32_t subject = -1);
extern const frl_device_row kDevice;
extern const frl_space kSpaces[2];

// compile.cc
int32_t refuse(const frl_device_row*, const frl_region*, frl_error*);
uint64_t estimate(const frl_device_row*, const frl_region*);
int32_t compile(frl_device*, const frl_region*, const frl_compile*, frl_kernel**, frl_error*);
void drop_kernel(frl_kernel*);
int32_t serialise(const frl_kernel*, void*, uint64_t, uint64_t*, frl_error*);

// run.cc: extents holds one for each given symbol, or is null.
void run_kernel(const Kernel& kernel, char* const* args, const int64_t* extents);
void run_pack(const Kernel& kernel, const char* source, char* target);

// queue.cc
int32_t open_queue(frl_device*, frl_queue**, frl_error*);
void close_queue(frl_queue*);
int32_t record(frl_queue*, const frl_segment*, frl_recording**, frl_error*);
void drop_recording(frl_recording*);
int32_t submit(frl_queue*, const frl_submit*, frl_error*);
int32_t wait(const frl_queue*, uint64_t value, uint64_t timeout_ns, frl_error*);
uint32_t live_threads();

}  // namespace discrete
