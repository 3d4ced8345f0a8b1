// The text form: any bytes give a graph that verifies and reads back as itself, or a sentence.
#include "core/graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = ferrule::parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph.ok()) return graph.status().message().empty() ? __builtin_trap(), 0 : 0;
  const std::string text = to_text(*graph);
  if (text.find(" hash ") != std::string::npos) return 0;  // large parameters do not read back
  const auto again = ferrule::parse_graph(text);
  if (!again.ok()) __builtin_trap();
  // Numbers of values follow the text from the second writing on.
  const std::string renumbered = to_text(*again);
  const auto third = ferrule::parse_graph(renumbered);
  if (!third.ok() || to_text(*third) != renumbered) __builtin_trap();
  return 0;
}
