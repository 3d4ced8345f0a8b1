// What the child processes of the suite do: list the cases of a plugin, or run some of them.
#pragma once

#include <span>

#include "conformance/report/json_lines.h"

namespace ferrule::conformance {

constexpr const char* kChildFlag = "--child";
constexpr int kLinesFd = 3, kJobFd = 4;  // where the parent listens, where the job is

// Reads the job, does it, writes its lines; the exit code.
int run_as_child(std::span<const Family> families);

// The plugin of the job, loaded unless the job says not to.
Target open_target(const Job& job);
Facts facts_of(const Target& target);
// False where its cases are not listed for this target.
bool is_listed(const Family& family, const Target& target);
// What the family lists for the target. At depth smoke each subject that it lists no case of (an op
// that none of its smoke types takes) gets its first one of depth standard.
std::vector<Case> cases_of(const Family& family, Target target);

// Runs one case: nothing it throws gets out, and a pass that judged nothing is none.
Record run_case(const Case& a_case, const Target& target);

// "smoke" > Depth; standard for other words.
Depth parse_depth(std::string_view name);

}  // namespace ferrule::conformance
