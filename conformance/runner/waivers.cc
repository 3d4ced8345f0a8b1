#include "conformance/runner/waivers.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>

#include "conformance/runner/rows.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr size_t kLargestShare = 20;  // a pattern may cover one case in so many
constexpr size_t kFew = 20;           // a pattern this small is never too large

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != 4 && i != 7 && !std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  using namespace std::chrono;
  return year_month_day(year(std::stoi(text)), month(unsigned(std::stoi(text.substr(5)))),
                        day(unsigned(std::stoi(text.substr(8)))))
      .ok();
}

size_t matches(const std::string& glob, const std::vector<std::string>& names) {
  return size_t(std::count_if(names.begin(), names.end(),
                              [&](const std::string& name) { return glob_matches(glob, name); }));
}

Result<Waiver> read_waiver(const DataRow& row, bool own) {
  FRL_TRY(row.only({"plugin", "device", "cases", "reason", "owner", "url", "expires"}));
  if (row.kind != "waiver")
    return Status(Code::invalid_argument,
                  cat(row.place, ": want [[waiver]], got [[", row.kind, "]]"));
  FRL_TRY(row.only_texts());
  for (const char* key : {"plugin", "device", "cases", "reason", "owner", "url", "expires"})
    if (row.text(key).empty())
      return Status(Code::invalid_argument, cat(row.place, ": waiver: want ", key));
  for (const auto& [key, values] : row.values)
    if (key != "cases" && values.size() != 1)
      return Status(Code::invalid_argument,
                    cat(row.place, ": ", key, ": want one text, got ", join(values)));
  Waiver out{row.place,         row.text("plugin"),  row.text("device"),
             row.list("cases"), row.text("reason"),  row.text("owner"),
             row.text("url"),   row.text("expires"), own};
  if (!is_date(out.expires))
    return Status(Code::invalid_argument,
                  cat(row.place, ": expires: want a day YYYY-MM-DD, got ", out.expires));
  return out;
}

}  // namespace

bool glob_matches(const std::string& glob, const std::string& name) {
  return glob == name || ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

Result<std::vector<Waiver>> read_waivers(const std::string& path, bool own) {
  FRL_LET(const auto rows, read_rows_of(path));
  std::vector<Waiver> out;
  for (const DataRow& row : rows) {
    FRL_LET(Waiver waiver, read_waiver(row, own));
    out.push_back(std::move(waiver));
  }
  return out;
}

Result<std::vector<Waiver>> read_waiver_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Waiver> out;
  for (const std::string& file : files) {
    FRL_LET(auto some, read_waivers(file, false));
    std::move(some.begin(), some.end(), std::back_inserter(out));
  }
  return out;
}

std::vector<Waiver> waivers_for(const std::vector<Waiver>& all, const Facts& facts,
                                std::vector<std::string>& notes) {
  std::vector<Waiver> out;
  for (const Waiver& waiver : all) {
    const bool other_plugin = waiver.plugin != facts.plugin_id;
    if (other_plugin || !glob_matches(waiver.device, facts.device)) {
      if (waiver.own)
        notes.push_back(cat("waiver ", waiver.place, ": it is about ",
                            other_plugin ? "plugin " : "device ",
                            other_plugin ? waiver.plugin : waiver.device, ", this is ",
                            other_plugin ? facts.plugin_id : facts.device));
      continue;
    }
    if (waiver.expires < facts.date.substr(0, 10))
      notes.push_back(cat("waiver ", waiver.place, ": it expired on ", waiver.expires,
                          " and is ignored; ", waiver.owner, ": ", waiver.url));
    else
      out.push_back(waiver);
  }
  return out;
}

const Waiver* find_waiver(const std::vector<Waiver>& waivers, const std::string& case_name) {
  for (const Waiver& waiver : waivers)
    for (const std::string& glob : waiver.cases)
      if (glob_matches(glob, case_name)) return &waiver;
  return nullptr;
}

Record excuse(Record record, const std::vector<Waiver>& waivers) {
  const Waiver* waiver = find_waiver(waivers, record.name);
  if (!waiver || record.verdict == Verdict::not_claimed) return record;
  if (record.verdict == Verdict::pass) {
    record.verdict = Verdict::xpass;
    record.text = cat("it passes; take it off the waiver ", waiver->place);
    return record;
  }
  record.text = cat("waived until ", waiver->expires, " (", waiver->owner, ", ", waiver->url,
                    "): ", waiver->reason, "; ", verdict_name(record.verdict), ": ", record.text);
  record.verdict = waiver->own ? Verdict::xfail : Verdict::waived;
  return record;
}

std::vector<std::string> idle_patterns(const std::vector<Waiver>& waivers,
                                       const std::vector<std::string>& listed) {
  std::vector<std::string> out;
  for (const Waiver& waiver : waivers)
    for (const std::string& glob : waiver.cases)
      if (matches(glob, listed) == 0) out.push_back(cat(waiver.place, ": ", glob));
  return out;
}

std::vector<std::string> bad_patterns(const std::vector<Waiver>& waivers,
                                      const std::vector<std::string>& suite) {
  std::vector<std::string> out;
  for (const std::string& idle : idle_patterns(waivers, suite))
    out.push_back(cat("waiver ", idle, " matches no case of the suite"));
  for (const Waiver& waiver : waivers)
    for (const std::string& glob : waiver.cases) {
      const size_t n = matches(glob, suite);
      if (n > kFew && n > suite.size() / kLargestShare)
        out.push_back(cat("waiver ", waiver.place, ": ", glob, " matches ", n, " of ", suite.size(),
                          " cases; want at most one in ", kLargestShare));
    }
  return out;
}

}  // namespace ferrule::conformance
