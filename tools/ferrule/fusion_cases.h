// The little graphs of `ferrule bench --fusion-table`: what each fusion would take, and in which
// shapes.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ferrule::cli {

// `text` is a graph with extents written as $m, and $M for twice $m. A shape is "m=8 n=64".
struct FusionCase {
  const char* pass;
  const char* name;
  const char* with;  // further passes that both sides run, separated by spaces
  std::vector<const char*> shapes;
  const char* text;
};
std::span<const FusionCase> fusion_cases();

// The graph's text for one of the shapes.
std::string instance(const FusionCase& row, const std::string& shape);

}  // namespace ferrule::cli
