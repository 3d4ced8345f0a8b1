// From a graph that fails to a small one that still does, and its text.
#pragma once

#include "tests/property/check.h"

namespace ferrule::property {

// Empty: the sample is fine.
using Fails = std::function<std::string(const Sample&)>;

// Fewer outputs, nodes and elements, plainer numbers, while `fails` says anything at all. Greedy.
//   tries  calls of `fails` at most
Sample shrink(Sample sample, const Fails& fails, size_t tries = 3000);

// The sample as a text case: reason, setting, inputs and graph.
std::string case_text(const std::string& name, const Sample& sample, const std::string& fault,
                      const std::string& setting);

}  // namespace ferrule::property
