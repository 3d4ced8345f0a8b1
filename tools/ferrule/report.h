// What compiling decided, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "core/session/session.h"

namespace ferrule::cli {

std::string explain_text(const Session& session, const Executable& executable);
std::string explain_json(const Session& session, const Executable& executable);
std::string explain_html(const Session& session, const Executable& executable);
std::string explain_dot(const Session& session, const Executable& executable);

// Rejected candidates, without those whose nodes another fusion took.
std::vector<const Candidate*> missed_fusions(const FuseReport& report);

// {"dispatch_ps": 30000, ...}
std::string rates_json(const Cost& cost);

}  // namespace ferrule::cli
