#include "conformance/runner/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <new>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// The pipe to the parent, out of the way of whoever closes or counts low descriptors.
class Lines {
 public:
  Lines() : fd_(::fcntl(kLinesFd, F_DUPFD_CLOEXEC, 900)) {
    if (fd_ < 0) fd_ = ::fcntl(kLinesFd, F_DUPFD_CLOEXEC, 40);
    ::close(kLinesFd);
  }
  void put(std::string line) const {
    line += '\n';
    for (size_t at = 0; at < line.size();) {
      const ssize_t n = ::write(fd_, line.data() + at, line.size() - at);
      if (n < 0 && errno != EINTR) ::_exit(9);  // nobody listens
      if (n > 0) at += size_t(n);
    }
  }

 private:
  int fd_;
};

Result<Job> read_job() {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t n; (n = ::read(kJobFd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  ::close(kJobFd);
  FRL_LET(Line line, parse_line(text));
  return std::move(line.job);
}

void limit_memory(int64_t mib) {
  if (mib <= 0) return;
  // Private writable memory: what counts is what is taken, not what is reserved.
  const rlimit limit{rlim_t(mib) << 20, rlim_t(mib) << 20};
  ::setrlimit(RLIMIT_DATA, &limit);
}

void add_claimed(Facts& facts, const std::string& op, const char* form, uint64_t types) {
  auto found = std::find_if(facts.claims.begin(), facts.claims.end(),
                            [&](const Claimed& c) { return c.op == op; });
  if (found == facts.claims.end()) found = facts.claims.insert(found, {op, form, {}});
  for (uint8_t t = FRL_F64; t <= FRL_BOOL; ++t) {
    const std::string name(type_name(Type(t)));
    if (types & FRL_BIT(t) &&
        std::find(found->types.begin(), found->types.end(), name) == found->types.end())
      found->types.push_back(name);
  }
}

// Own rows first, then members of open kinds that have none.
void add_claims(Facts& facts, const DeviceRow& row) {
  const auto types_of = [](const Claim& claim) {
    uint64_t types = 0;
    for (const frl_operand& operand : claim.operands) types |= operand.types;
    return types;
  };
  const auto form_of = [](OpId op) {
    const OpRow* found = find_op(op);
    return !found                        ? "vendor"
           : found->form == Form::open   ? "open"
           : found->form == Form::closed ? "closed"
                                         : "op";
  };
  for (const Claim& claim : row.claims)
    add_claimed(facts, claim.name, form_of(claim.op), types_of(claim));
  std::vector<std::string> own;
  for (const Claimed& c : facts.claims) own.push_back(c.op);
  for (const Claim& claim : row.claims)
    for (OpId member : claim.members) {
      const OpRow* op = find_op(member);
      if (op && std::find(own.begin(), own.end(), op->name) == own.end())
        add_claimed(facts, op->name, "op", types_of(claim));
    }
}

void list_all(std::span<const Family> families, const Job& job, const Lines& lines) {
  const Target target = open_target(job);
  lines.put(line_of(facts_of(target)));
  for (const Family& family : families) {
    if (job.families.find(family.id) == std::string::npos || !is_listed(family, target)) continue;
    lines.put(line_of("family", std::string(1, family.id)));
    for (const Case& one : cases_of(family, target)) lines.put(line_of("case", one.name));
  }
}

void run_all(std::span<const Family> families, const Job& job, const Lines& lines) {
  Target target = open_target(job);
  target.only = std::make_shared<const std::set<std::string>>(job.cases.begin(), job.cases.end());
  std::map<std::string, Case> known;
  std::string listed;
  for (const std::string& name : job.cases) {
    if (listed.find(name[0]) != std::string::npos) continue;
    listed += name[0];
    for (const Family& family : families) {
      if (family.id != name[0] || !is_listed(family, target)) continue;
      for (Case& one : cases_of(family, target)) known.emplace(one.name, std::move(one));
    }
  }
  for (const std::string& name : job.cases) {
    const auto found = known.find(name);
    lines.put(line_of("begin", name));
    Record record{name,
                  Verdict::internal_error,
                  "case: it was listed before and is not listed now",
                  {},
                  {},
                  0,
                  0,
                  0};
    if (found != known.end()) record = run_case(found->second, target);
    lines.put(line_of(record));
  }
}

}  // namespace

Depth parse_depth(std::string_view name) {
  return name == "smoke" ? Depth::smoke : name == "deep" ? Depth::deep : Depth::standard;
}

bool is_listed(const Family& family, const Target& target) {
  if (!family.needs_device) return true;
  return target.driver && target.device < target.driver->devices().size() &&
         target.row().state == FRL_DEVICE_PRESENT;
}

std::vector<Case> cases_of(const Family& family, Target target) {
  std::vector<Case> out, more;
  family.list(target, out);
  if (target.depth != Depth::smoke) return out;
  std::set<std::string> subjects;
  for (const Case& one : out) subjects.insert(subject_of(one.name));
  target.depth = Depth::standard;
  family.list(target, more);
  for (Case& one : more)
    if (subjects.insert(subject_of(one.name)).second) out.push_back(std::move(one));
  return out;
}

Target open_target(const Job& job) {
  Target target;
  target.path = job.plugin, target.depth = parse_depth(job.depth), target.seed = uint64_t(job.seed);
  target.data_folder = job.data_folder;
  target.load.path = job.plugin;
  if (!job.load) {
    target.load.stage = Stage::load;
    target.load.status = Status(Code::incompatible, job.load_text);
    return target;
  }
  const LogSink sink = [](int level, const std::string& from, const std::string& text) {
    std::fprintf(stderr, "%s: %s%s\n", from.c_str(), level == 0 ? "error: " : "", text.c_str());
  };
  auto driver =
      load_plugin(job.plugin, std::make_shared<Team>(available_processors()), sink, &target.load);
  if (!driver.ok()) return target;
  target.driver = *driver;
  const auto devices = target.driver->devices();
  const auto present = std::find_if(devices.begin(), devices.end(), [](const DeviceRow& d) {
    return d.state == FRL_DEVICE_PRESENT;
  });
  target.device = job.device >= 0            ? size_t(job.device)
                  : present == devices.end() ? 0
                                             : size_t(present - devices.begin());
  return target;
}

Facts facts_of(const Target& target) {
  Facts facts;
  facts.load_stage = stage_name(target.load.stage), facts.load_text = target.load.status.message();
  facts.plugin_id = target.load.id, facts.plugin_version = target.load.version;
  if (!target.driver) return facts;
  const size_t n = target.driver->devices().size();
  facts.device_number = int64_t(target.device);
  if (target.device >= n) {
    std::vector<std::string> names;
    for (const DeviceRow& row : target.driver->devices())
      names.push_back(cat(names.size(), " (", row.name, ")"));
    facts.device_text = n == 0 ? "the plugin lists no device"
                               : cat("want one of ", join(names), ", got ", target.device);
    return facts;
  }
  const DeviceRow& row = target.row();
  facts.device = row.name, facts.architecture = row.architecture, facts.driver = row.driver;
  if (row.state == FRL_DEVICE_ABSENT)
    facts.device_text = cat(row.name, " is absent: ", row.reason_text);
  if (row.state == FRL_DEVICE_PROFILE)
    facts.device_text = cat(row.name, " is a profile, without the hardware");
  facts.claims_hash = hex_text(row.claims_hash());
  facts.void_claims = row.voided;
  add_claims(facts, row);
  return facts;
}

Record run_case(const Case& a_case, const Target& target) {
  Record record{a_case.name, Verdict::internal_error, {}, {}, {}, 0, 0, 0};
  const auto start = std::chrono::steady_clock::now();
  try {
    Outcome outcome = a_case.run(target);
    record.verdict = outcome.verdict, record.text = std::move(outcome.text);
    record.judged = outcome.judged, record.worst = outcome.worst;
    if (outcome.verdict == ferrule::conformance::Verdict::pass && outcome.judged == 0)
      record.verdict = Verdict::internal_error,
      record.text = "case: want something judged, got a pass that compared nothing";
  } catch (const std::bad_alloc&) {
    record.verdict = Verdict::resource_error,
    record.text = "memory: the limit of the case was reached";
  } catch (const std::exception& error) {
    record.text = cat("case: it threw ", error.what());
  } catch (...) {
    record.text = "case: it threw something that is no std::exception";
  }
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

int run_as_child(std::span<const Family> families) {
  // A child does not outlive its parent, whatever ends that one.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) return 2;
  const auto job = read_job();
  if (!job.ok()) return 2;
  const Lines lines;
  limit_memory(job->memory_limit_mib);
  if (job->list)
    list_all(families, *job, lines);
  else
    run_all(families, *job, lines);
  // The plugin is closed by now: that went well too.
  lines.put(line_of("done", ""));
  return 0;
}

}  // namespace ferrule::conformance
