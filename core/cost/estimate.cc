#include "core/cost/estimate.h"

#include <algorithm>

namespace ferrule {
namespace {

// Flops of one element of a pointwise op.
int64_t flops_of(OpId op) {
  switch (op) {
    case FRL_OP_identity:
    case FRL_OP_cast:
    case FRL_OP_select:
    case FRL_OP_neg:
    case FRL_OP_abs:
      return 1;
    case FRL_OP_div:
    case FRL_OP_reciprocal:
    case FRL_OP_sqrt:
    case FRL_OP_rsqrt:
    case FRL_OP_mod:
    case FRL_OP_fmod:
      return 4;
    case FRL_OP_gelu:
    case FRL_OP_gelu_tanh:
    case FRL_OP_mish:
      return 12;
    case FRL_OP_pow:
      return 16;
    default:
      break;
  }
  if (op >= FRL_OP_exp && op <= FRL_OP_sigmoid) return 8;
  if (op >= FRL_OP_elu && op <= FRL_OP_softsign) return 8;
  if (op == FRL_OP_silu) return 8;
  return 1;
}

int64_t product(const Shape& shape, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < shape.rank(); ++i) n *= shape[i];
  return n;
}

int64_t recurrent_flops(const Graph& graph, const Node& node) {
  const Shape& x = graph.shape(node.operands[0]);
  const int64_t steps = x.rank() == 3 ? x[0] * x[1] : 1;
  return 2 * steps *
         (graph.shape(node.operands[1]).n_elements() + graph.shape(node.operands[2]).n_elements());
}

int64_t plain_flops(const Graph& graph, const Node& node) {
  const Shape& out = graph.shape(node.results[0]);
  const Shape& in = graph.shape(node.operands[0]);
  switch (node.op) {
    case FRL_OP_matmul:
      return 2 * out.n_elements() * in.back();
    case FRL_OP_conv:
      return 2 * out.n_elements() * product(graph.shape(node.operands[1]), 1);
    case FRL_OP_conv_transpose:
      return 2 * in.n_elements() * product(graph.shape(node.operands[1]), 1);
    case FRL_OP_softmax:
    case FRL_OP_log_softmax:
      return 12 * out.n_elements();
    case FRL_OP_reduce:
    case FRL_OP_arg_reduce:
    case FRL_OP_cumulative:
      return in.n_elements();
    case FRL_OP_lstm:
    case FRL_OP_gru:
    case FRL_OP_rnn:
      return recurrent_flops(graph, node);
    case FRL_OP_max_pool:
    case FRL_OP_avg_pool: {
      int64_t window = 1;
      for (int64_t extent : node.attributes.list(0)) window *= extent;
      return out.n_elements() * window;
    }
    case FRL_OP_resize:
    case FRL_OP_grid_sample:
      return 8 * out.n_elements();
    default:
      return 0;  // movement
  }
}

// What a product loses at its start and end, as flops at the full rate: the half-performance length
// of Hockney and Jesshope, Parallel Computers 2, 1.3. Measured on one core of the machine that the
// cpu plugin's rates are from: 140 ns at 6 us a MFLOP beside a launch. Faster devices lose more,
// but no more than a few launches' worth, so the core's is a lower bound for them.
constexpr int64_t kHalfFlops = 24'000;

bool is_product(OpId op) {
  return op == FRL_OP_matmul || op == FRL_OP_conv || op == FRL_OP_conv_transpose;
}
bool only_moves(OpId op) {
  return op == FRL_OP_slice || op == FRL_OP_transpose || op == FRL_OP_concat || op == FRL_OP_pad;
}

struct Work {
  int64_t flops = 0, products = 0;
  int64_t moved_bytes = 0;  // by nodes inside of a region that only move
};

// A node that only moves is charged inside of a region as it is outside: kernels that read through
// such a node instead can say so with estimate().
Work work_of(const Graph& graph, const Node& node) {
  const OpRow* row = find_op(node.op);
  if (row && row->form == Form::pointwise)
    return {flops_of(node.op) * graph.shape(node.results[0]).n_elements()};
  if (row && row->form == Form::plain) return {plain_flops(graph, node), is_product(node.op)};
  Work work;
  const auto body = node.op == FRL_OP_if || node.op == FRL_OP_while || node.op == FRL_OP_scan
                        ? Result<Body>(node.bodies.back())
                        : region_body(graph, node);
  if (!body.ok()) return work;
  for (const Node& member : (*body)->nodes()) {
    const Work inner = work_of(**body, member);
    work.flops += inner.flops, work.products += inner.products;
    work.moved_bytes += inner.moved_bytes;
    if (only_moves(member.op))
      work.moved_bytes += 2 * (*body)->type(member.results[0]).size_bytes();
  }
  if (node.op == FRL_OP_scan) {
    const int64_t times = std::max<int64_t>(1, node.attributes.i(FRL_AT_scan_length));
    work.flops *= times, work.products *= times, work.moved_bytes *= times;
  }
  return work;
}

}  // namespace

Profile& Profile::operator+=(const Profile& other) {
  launches += other.launches, syncs += other.syncs, host_output_bytes += other.host_output_bytes;
  device_bytes += other.device_bytes, one_time_bytes += other.one_time_bytes;
  for (size_t i = 0; i < flops.size(); ++i) flops[i] += other.flops[i];
  return *this;
}

bool is_view(const Node& node) { return node.op == FRL_OP_reshape; }

bool is_done_once(const Graph& graph, const Node& node, std::set<ValueId>& once) {
  for (ValueId id : node.operands)
    if (id != kNoValue && !graph.known(id) && !once.contains(id)) return false;
  once.insert(node.results.begin(), node.results.end());
  return true;
}

int64_t count_flops(const Graph& graph, const Node& node) { return work_of(graph, node).flops; }

Profile profile_node(const Graph& graph, const Node& node) {
  Profile out;
  if (is_view(node)) return out;
  out.launches = 1;
  for (ValueId operand : node.operands)
    if (operand != kNoValue) out.device_bytes += graph.type(operand).size_bytes();
  // A gather reads what it picks, not the whole table; so does a slice.
  if (node.op == FRL_OP_gather || node.op == FRL_OP_slice)
    out.device_bytes +=
        graph.type(node.results[0]).size_bytes() - graph.type(node.operands[0]).size_bytes();
  for (ValueId result : node.results) out.device_bytes += graph.type(result).size_bytes();
  const Work work = work_of(graph, node);
  out.device_bytes += work.moved_bytes;
  out.flops[size_t(graph.type(node.results[0]).type)] += work.flops + kHalfFlops * work.products;
  return out;
}

int64_t ps_per_mflop(const Cost& cost, Type type, uint32_t compute) {
  int64_t f32 = 0;
  for (const frl_rate& rate : cost.arithmetic) {
    if (rate.type == uint32_t(type) && rate.compute == compute) return int64_t(rate.ps_per_mflop);
    if (rate.type == FRL_F32 && rate.compute == FRL_COMPUTE_IEEE) f32 = int64_t(rate.ps_per_mflop);
  }
  for (const frl_rate& rate : cost.arithmetic)
    if (rate.type == uint32_t(type)) return int64_t(rate.ps_per_mflop);
  return type == Type::f64 || type == Type::i64 || type == Type::u64 ? 2 * f32 : f32;
}

int64_t time_ps(const Cost& cost, const Profile& profile, uint32_t compute) {
  // In double: a product of a large graph's bytes and a slow rate leaves 64 bits.
  double ps = double(profile.launches) * double(cost.dispatch_ps) +
              double(profile.syncs) * double(cost.round_trip_ps) +
              double(profile.device_bytes) / 1024 * double(cost.memory_ps_per_kib) +
              double(profile.host_output_bytes) / 1024 * double(cost.readback_ps_per_kib);
  for (size_t type = 0; type < profile.flops.size(); ++type)
    if (profile.flops[type])
      ps += double(profile.flops[type]) / 1e6 * double(ps_per_mflop(cost, Type(type), compute));
  return int64_t(std::min(ps, 9e18));
}

}  // namespace ferrule
