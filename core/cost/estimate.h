// What a graph, or a part of it, costs on a device: one estimate, used by the gate and by
// placement.
#pragma once

#include <array>
#include <set>

#include "core/claim/match.h"

namespace ferrule {

// Work of a neighbourhood. Leaves, views and unused nodes count nothing.
struct Profile {
  int64_t launches = 0;
  int64_t syncs = 0;                          // times that the host must step in
  int64_t host_output_bytes = 0;              // read back by the caller
  int64_t device_bytes = 0;                   // read and written by kernels
  int64_t one_time_bytes = 0;                 // packs and folded weights
  std::array<int64_t, FRL_BOOL + 1> flops{};  // by element type

  Profile& operator+=(const Profile& other);
  bool operator==(const Profile&) const = default;
};

// True for nodes that make no work of their own: a reshape of dense elements.
bool is_view(const Node& node);

// True where only known values feed the node: it is computed once, before any run. Its results join
// `once`, the values of this kind.
bool is_done_once(const Graph& graph, const Node& node, std::set<ValueId>& once);

// Arithmetic of one node, bodies included. A multiply-add is 2; a transcendental counts as 8 and a
// division or root as 4, about what a vector unit spends on one beside an addition.
int64_t count_flops(const Graph& graph, const Node& node);

// One node as one kernel: its operands read once, its results written once, and what slices,
// transposes and the like inside of it move. A product's start and end count as flops.
Profile profile_node(const Graph& graph, const Node& node);

// Predicted time of one run of these kernels in a segment, by the rates of the cost row.
//   units   picoseconds
int64_t time_ps(const Cost& cost, const Profile& profile, uint32_t compute);

// The device's rate for a type: exact row, else that of f32 (scaled by size), else 0.
int64_t ps_per_mflop(const Cost& cost, Type type, uint32_t compute);

}  // namespace ferrule
