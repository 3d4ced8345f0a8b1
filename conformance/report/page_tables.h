// The parts of report.html that are tables.
#pragma once

#include <span>

#include "conformance/report/record.h"

namespace ferrule::conformance {

std::string family_table(const Report& report, std::span<const Family> families);
// Ops down, element types across; each cell is all cases of the pair.
std::string op_matrix(const Report& report, std::span<const Family> families);
// Region kinds down, families across.
std::string kind_matrix(const Report& report, std::span<const Family> families);
std::string worst_table(const Report& report);
std::string case_table(const Report& report, std::span<const Family> families);

// "good", "bad", "warn" or "none": the class of a verdict.
const char* color_of(const Record& record, int level);
std::string pill(const Record& record, int level);
int level_of(const Record& record, std::span<const Family> families);

}  // namespace ferrule::conformance
