#include "conformance/report/reports.h"

#include <fstream>

#include "conformance/report/json_lines.h"
#include "core/base/text.h"

namespace ferrule::conformance {

std::vector<ReportFile> report_files(const Report& report, std::span<const Family> families) {
  return {{"report.jsonl", to_json_lines(report)},
          {"junit.xml", to_junit(report, families)},
          {"report.html", to_html(report, families)},
          {"badge.svg", to_badge(report)}};
}

Status write_reports(const Report& report, std::span<const Family> families,
                     const std::string& folder) {
  for (const ReportFile& file : report_files(report, families)) {
    std::ofstream out(cat(folder, "/", file.name), std::ios::binary | std::ios::trunc);
    out << file.text;
    if (!out.flush())
      return Status(Code::not_found, cat("report: cannot write ", folder, "/", file.name));
  }
  return {};
}

}  // namespace ferrule::conformance
