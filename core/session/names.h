// Names in the config that nothing answers to.
//
// The rule. What a flag names must be there, since it is for this call alone; so must a pass and a
// device wherever they are named, since without them a run would not be what was asked for: errors.
// A plugin in a file may be one of another machine that reads the same file: a warning.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/config/config.h"
#include "core/driver/loader.h"

namespace ferrule {

// "ORIGIN: KEY: want WANT, got NAME; did you mean NEAR".
Status unknown_name(const Config& config, const std::string& key, const std::string& want,
                    const std::string& name, std::span<const std::string> near,
                    Code code = Code::invalid_argument);

// plugins.deny and the settings of plugins, against the files that were found.
//   warn    takes the sentences that are no errors
//   errors  invalid_argument
Status check_plugin_names(const Config& config, std::span<const Verdict> found,
                          const std::function<void(const std::string&)>& warn);

}  // namespace ferrule
