// ferrule-conformance as a function, so that tests can give it families of their own.
#pragma once

#include <span>

#include "conformance/runner/options.h"

namespace ferrule::conformance {

int run_program(std::span<const Family> families, int argc, char** argv);

// The commands; each gives the exit code.
int run_suite(std::span<const Family> families, const Options& options,
              const std::string& command_line);
int list_command(std::span<const Family> families, const Options& options);
int explain_command(std::span<const Family> families, const Options& options);
int replay_command(std::span<const Family> families, const Options& options);
int must_pass_command(std::span<const Family> families, const Options& options);
int verify_command(std::span<const Family> families, const Options& options);

// Prints "ferrule-conformance: MESSAGE" and gives the exit code of bad usage.
int complain(const std::string& message);

// What to say where the options select none of the cases that there are.
std::string nothing_selected(const Options& options, const std::vector<std::string>& listed);

// Where profiles and waivers lie, beside this program: build trees and installed ones look alike.
std::string data_folder();

// The job that the options ask for, with every family. The plugin's path is made absolute.
Job job_of(std::span<const Family> families, const Options& options);
// "F,G" or "numerics,G" > "FG"
Result<std::string> family_ids(std::span<const Family> families, const std::string& text);

}  // namespace ferrule::conformance
