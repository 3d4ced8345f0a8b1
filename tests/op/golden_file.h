// Case files: what an op gives for stated operands, and what it refuses. README.md has the format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/op/op.h"

namespace ferrule {

// One operand or result: a type, and elements where the case states them.
struct GoldenTensor {
  TensorType type;  // none: missing
  std::vector<std::string> elements;
};

struct GoldenCase {
  std::string at;  // "file.txt:12 conv with pads"
  const OpRow* row = nullptr;
  Attributes attributes;
  std::vector<GoldenTensor> operands, results;
  std::vector<std::string> gives;      // inferred types as text
  std::optional<std::string> refusal;  // part of the message of infer_results()
  std::optional<std::string> failure;  // part of the message of the evaluation
  double near = 0;                     // 0: one unit in the last place
};

// The case files under golden/, sorted.
std::vector<std::string> golden_files();

// Reports what cannot be read as test failures.
std::vector<GoldenCase> read_golden_file(const std::string& path);

Tensor to_tensor(const GoldenTensor& golden);

}  // namespace ferrule
