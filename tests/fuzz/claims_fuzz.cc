// Claim tables: rows with any numbers are read, voided or refused. Pointers are the plugin's own
// word and stay valid; counts and strides are fuzzed only where the reader must bound them.
#include <cstring>

#include "core/claim/match.h"
#include "core/driver/rows.h"

namespace {

struct Source {
  const uint8_t* data;
  size_t size;
  template <class T>
  T take() {
    T out{};
    const size_t n = size < sizeof(T) ? size : sizeof(T);
    if (n) std::memcpy(&out, data, n);
    data += n, size -= n;
    return out;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source{data, size};
  frl_operand operands[4];
  for (frl_operand& operand : operands) operand = source.take<frl_operand>();
  int64_t allowed[2] = {source.take<int64_t>(), source.take<int64_t>()};
  frl_choice choices[2] = {{source.take<uint32_t>(), 2, allowed},
                           {source.take<uint32_t>(), 1, allowed}};
  uint32_t members[3] = {source.take<uint32_t>(), FRL_OP_add, source.take<uint32_t>()};
  frl_claim claims[2];
  for (frl_claim& claim : claims) {
    claim = source.take<frl_claim>();
    claim.operands = {operands, 4, sizeof(frl_operand)};
    claim.choices = {choices, 2, sizeof(frl_choice)};
    claim.members = claim.prologue = claim.epilogue = {members, 3, 4};
  }
  frl_space space = source.take<frl_space>();
  frl_cost cost = source.take<frl_cost>();
  cost.arithmetic = {nullptr, 0, 0};
  frl_device_row row = source.take<frl_device_row>();
  row.name = row.architecture = row.driver = row.pci =
      row.reason_text = {reinterpret_cast<const char*>(operands), 8};
  row.claims = {claims, 2, sizeof(frl_claim)};
  row.spaces = {&space, 1, sizeof(frl_space)};
  row.cost = &cost;
  const auto devices = ferrule::read_devices({&row, 1, sizeof row}, {"a.b"});
  if (!devices.ok()) return devices.status().message().empty() ? __builtin_trap(), 0 : 0;
  static const ferrule::Graph graph = *ferrule::parse_graph(
      "graph \"g\"\n%x = input f32[2] \"x\"\n%y = add %x, %x\n%z = softmax %y\nreturn %z \"z\"");
  for (const ferrule::Node& node : graph.nodes())
    ferrule::match_claims((*devices)[0], graph, node, FRL_COMPUTE_IEEE);
  return 0;
}
