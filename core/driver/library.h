// A shared library on disk: what can be read without running it, and running it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace ferrule {

// The identity note (frl_identity) and the facts of the file, read without executing anything.
struct Inspection {
  uint32_t major = 0, min_minor = 0, max_minor = 0, sanitizer = 0;
  std::string id, version, isa, build;
  std::string soname;
  std::vector<std::string> needed;  // libraries that the system's loader will look for
};

// errors  incompatible with what is wrong with the file: not ELF, another machine, no note, ...
Result<Inspection> inspect_library(const std::string& path);

// The same for an image in memory.
Result<Inspection> inspect_image(Bytes image);

// Names that the library exports, without loading it.
Result<std::vector<std::string>> exported_symbols(const std::string& path);

// A loaded library; stays mapped until the last handle goes, and for ever after keep().
class Library {
 public:
  // Binds everything now and keeps its names to itself; floating-point control is as before after.
  //   errors  incompatible with the system's own text and the libraries that the file needs
  static Result<Library> load(const std::string& path, const Inspection& inspection);
  void* find(const char* symbol) const;  // null if there is none
  void keep();                           // never unmapped from now on

 private:
  std::shared_ptr<void> handle_;
};

// 0 for a build without sanitizers, else the numbers of frl_identity.sanitizer.
uint32_t own_sanitizer();
// True if this machine can run code for `isa` ("x86-64-v3", "any"); false for names it does not
// know.
bool machine_runs(const std::string& isa);

}  // namespace ferrule
