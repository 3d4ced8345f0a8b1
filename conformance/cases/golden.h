// Golden values: operands and results of every op from sources outside Ferrule (tools/golden.py).
#pragma once

#include "conformance/cases/check.h"

namespace ferrule::conformance {

struct GoldenCase {
  OpId op = 0;
  size_t line = 0;             // of the file
  Graph graph;                 // of one node, with its bodies
  std::vector<Tensor> inputs;  // as graph.inputs()
  std::vector<Tensor> results;
};

// Every line of the file that is a case.
//   errors  not_found; invalid_argument with the line
Result<std::vector<GoldenCase>> read_golden(const std::string& path);

// Appends "F/<op>/golden/<line>" for each case that the device claims.
void list_golden(const Target& target, std::vector<Case>& cases);

}  // namespace ferrule::conformance
