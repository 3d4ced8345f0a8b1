// Claim rows read as the plugin wrote them, and what a single row may say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/op/op.h"

namespace ferrule::conformance {

frl_claim claim_row(const frl_device_row& row, uint32_t i);
frl_operand claim_operand(const frl_claim& claim, uint32_t i);
// Slot and allowed values of choice i.
std::pair<uint32_t, std::vector<int64_t>> choice_values(const frl_claim& claim, uint32_t i);

// "" or the first fault of row i, as a sentence.
std::string check_claim(const frl_device_row& row, uint32_t i, uint32_t n_kinds);
// Name, state, identity, queues.
std::string check_device(const frl_device_row& row);
std::string check_spaces(const frl_device_row& row);

}  // namespace ferrule::conformance
