// The reports of a run. Each is worked out from the Report alone, byte for byte the same each time.
#pragma once

#include <span>

#include "conformance/report/record.h"

namespace ferrule::conformance {

std::string to_junit(const Report& report, std::span<const Family> families);
std::string to_html(const Report& report, std::span<const Family> families);
std::string to_badge(const Report& report);

struct ReportFile {
  const char* name;  // "report.html"
  std::string text;
};
std::vector<ReportFile> report_files(const Report& report, std::span<const Family> families);
Status write_reports(const Report& report, std::span<const Family> families,
                     const std::string& folder);

}  // namespace ferrule::conformance
