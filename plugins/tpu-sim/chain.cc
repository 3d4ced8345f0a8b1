#include "plugins/tpu-sim/chain.h"

#include <algorithm>
#include <cstring>

namespace tpu_sim {
namespace {

// The only element of a literal, as the lanes hold it.
float word_of(const frl::Value& v) {
  switch (v.type) {
    case FRL_F32: {
      float x;
      std::memcpy(&x, v.literal.data(), sizeof x);
      return x;
    }
    case FRL_BF16: {
      uint16_t bits;
      std::memcpy(&bits, v.literal.data(), sizeof bits);
      return from_bf16(bits);
    }
    case FRL_BOOL:
      return v.literal[0] != std::byte{0} ? 1.0f : 0.0f;
    default:
      throw frl::Failure(FRL_NO_TYPE, "literal: want f32, bf16 or bool");
  }
}

bool is_splat(const frl::Value& v) {
  return v.is_literal() && v.literal.size() == size_t(frl::element_bytes(v.type));
}

}  // namespace

Chain::Chain(Emitter& out, uint32_t first, uint32_t end, uint32_t seed) : out_(out), seed_(seed) {
  const frl::Region& region = out_.region();
  const frl::Body body = region.body(0);
  if (seed != FRL_NO_VALUE) sources_.emplace_back(seed, Source{Source::seed, 0});
  const auto is_made = [&](uint32_t id) {
    for (uint32_t i = first; i < end; ++i)
      for (uint32_t result : region.node(i).results)
        if (result == id) return true;
    return false;
  };
  for (uint32_t i = first; i < end; ++i)
    for (uint32_t id : region.node(i).operands)
      if (!is_made(id)) add_leaf(id);
  for (uint32_t id : body.outputs)
    if (!is_made(id)) add_leaf(id);
  for (uint32_t i = first; i < end; ++i) add_step(region.node(i));
  for (size_t i = 0; i < body.outputs.size(); ++i)
    stores_.push_back({body.outputs[i],
                       {region.output(i), region.output_argument(i)},
                       0,
                       out_.window_of({region.output(i), region.output_argument(i)})});
  assign_slots(first, end);
}

void Chain::add_leaf(uint32_t value) {
  for (const auto& [known, source] : sources_)
    if (known == value) return;
  const frl::Operand operand = out_.region().operand_of(out_.region().value(value));
  if (operand.argument < 0 && !operand.value.is_literal())
    throw frl::Failure(FRL_NO_BODY, "body: want an operand that was made before");
  const bool in_body = operand.argument < 0 && is_splat(operand.value);
  if (in_body) {
    sources_.emplace_back(value, Source{Source::word, out_.scalar(word_of(operand.value))});
    return;
  }
  loads_.push_back({value, operand, 0, out_.window_of(operand)});
  sources_.emplace_back(value, Source{Source::slot, UINT32_MAX});
}

void Chain::add_step(const frl::Node& node) {
  const frl::Value result = out_.region().value(node.results[0]);
  if (lane_weight(node.op) == 0)
    throw frl::Failure(FRL_NO_BODY,
                       std::string("body: want ops of the lanes, got ") + frl::op_name(node.op));
  Step step{node.op, result.id, {}, 0, 0, result.type == FRL_BF16};
  step.p0 = static_cast<float>(node.attributes.f(0));
  step.p1 = static_cast<float>(node.attributes.f(1));
  for (uint32_t id : node.operands) step.in.push_back({Source::slot, id});
  if (node.op == FRL_OP_cast && result.type == FRL_BOOL) {
    step.op = FRL_OP_not_equal;
    sources_.emplace_back(FRL_NO_VALUE, Source{Source::word, out_.scalar(0)});
    step.in.push_back({Source::slot, FRL_NO_VALUE});
  }
  steps_.push_back(std::move(step));
}

// A slot for each value from its first use, or its making, to its last one. Steps still name
// values; here they get their places.
void Chain::assign_slots(uint32_t first, uint32_t end) {
  const size_t n = end - first;
  std::vector<size_t> last(out_.region().n_values(), 0);
  for (size_t i = 0; i < n; ++i)
    for (const Source& s : steps_[i].in)
      if (s.number != FRL_NO_VALUE) last[s.number] = i;
  for (const Edge& e : stores_) last[e.value] = n;
  std::vector<std::pair<uint32_t, size_t>> live;  // slot, last use
  const auto take = [&](uint32_t value, size_t now) {
    for (auto& [slot, until] : live)
      if (until < now) return until = last[value], slot;
    live.emplace_back(static_cast<uint32_t>(n_slots_), last[value]);
    return static_cast<uint32_t>(n_slots_++);
  };
  const auto settle = [&](uint32_t value, size_t now) {
    for (auto& [known, source] : sources_)
      if (known == value) return source.number = take(value, now), void();
    sources_.emplace_back(value, Source{Source::slot, take(value, now)});
  };
  for (const Edge& e : loads_) settle(e.value, 0);
  for (size_t i = 0; i < n; ++i) {
    for (Source& s : steps_[i].in) s = source_of(s.number);
    const uint32_t value = steps_[i].to;
    settle(value, i);
    steps_[i].to = source_of(value).number;
  }
  for (Edge& e : loads_) e.slot = source_of(e.value).number;
}

Chain::Source Chain::source_of(uint32_t value) const {
  for (const auto& [known, source] : sources_)
    if (known == value) return source;
  throw frl::Failure(FRL_NO_BODY, "body: want an operand that was made before");
}

void Chain::allocate(int64_t words) {
  for (size_t i = 0; i < n_slots_; ++i) buffers_.push_back(out_.pair(words));
}

LaneOperand Chain::operand_of(const Source& source, const Tile& tile) const {
  switch (source.where) {
    case Source::slot:
      return {buffers_[source.number][tile.turn], Form::full};
    case Source::seed:
      return {tile.seed, Form::full};
    default:
      return {source.number, Form::scalar};
  }
}

BufferId Chain::buffer_of(const Edge& edge, const Tile& tile) const {
  return operand_of(source_of(edge.value), tile).buffer;
}

void Chain::emit(const Tile& tile) const {
  for (const Step& step : steps_) {
    Lane lane{
        step.op,    buffers_[step.to][tile.turn], {}, tile.rows, tile.columns, step.p0, step.p1,
        step.rounds};
    for (size_t k = 0; k < step.in.size() && k < 3; ++k) lane.in[k] = operand_of(step.in[k], tile);
    for (size_t k = step.in.size(); k < 3; ++k) lane.in[k] = {kNoBuffer, lane.in[0].form};
    out_.emit(lane);
  }
}

}  // namespace tpu_sim
