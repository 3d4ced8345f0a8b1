#include "conformance/runner/listing.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

void drop_doubles(Listing& listing) {
  std::set<std::string> seen;
  std::vector<std::string> cases;
  for (std::string& name : listing.cases) {
    if (seen.insert(name).second)
      cases.push_back(std::move(name));
    else
      listing.problems.push_back(cat("case ", name, ": it is listed twice"));
  }
  listing.cases = std::move(cases);
}

}  // namespace

Listing list_cases(std::span<const Family> families, Job job, const Limits& limits) {
  Listing out;
  job.list = true;
  // Each round ends well, or finds one more thing to go without.
  for (size_t round = 0; round < families.size() + 2; ++round) {
    out.cases.clear();
    bool loaded = false;
    std::string family;
    const ChildEnd end = run_child(job, limits, [&](Line line) {
      if (line.kind == "facts") loaded = true, out.facts = std::move(line.facts);
      if (line.kind == "family") family = line.text;
      if (line.kind == "case") out.cases.push_back(line.text);
      if (line.kind == "done") family = "done";
    });
    if (end.end == End::answered) break;
    if (family == "done") {
      out.problems.push_back(cat("closing the plugin: ", end.text));
      break;
    }
    if (!loaded) {
      if (!job.load) {
        out.problems.push_back(cat("listing: ", end.text));
        break;
      }
      job.load = false;
      job.load_text = cat("loading it: ", end.text);
      out.problems.push_back(cat("plugin: ", job.load_text));
      continue;
    }
    if (family.empty()) {
      out.problems.push_back(cat("listing: ", end.text));
      break;
    }
    out.problems.push_back(cat("family ", family, ": listing its cases: ", end.text));
    std::erase(job.families, family[0]);
  }
  drop_doubles(out);
  out.job = job;
  return out;
}

}  // namespace ferrule::conformance
