// A temporary folder with the good cpu plugin in it, and whatever is put beside it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/driver/loader.h"

namespace ferrule::zoo {

namespace fs = std::filesystem;

class Cage {
 public:
  Cage() {
    std::string name = (fs::temp_directory_path() / "ferrule-zoo-XXXXXX").string();
    if (!::mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder";
    ::chmod(name.c_str(), 0755);
    folder_ = name;
    fs::copy_file(FRL_BUILD_DIR "/plugins/cpu.so", at("cpu.so"));
  }
  Cage(const Cage&) = delete;
  Cage& operator=(const Cage&) = delete;
  ~Cage() {
    std::error_code code;
    fs::remove_all(folder_, code);
  }

  const fs::path& folder() const { return folder_; }
  std::string at(const std::string& name) const { return (folder_ / fs::path(name)).string(); }
  static std::string member(const std::string& name) {
    return FRL_BUILD_DIR "/zoo/zoo_" + name + ".so";
  }

  // A copy: each test loads a library of its own.
  void put(const std::string& name, const std::string& as = "bad.so") const {
    fs::copy_file(member(name), at(as));
  }
  void write(const std::string& text, const std::string& as = "bad.so") const {
    std::ofstream(at(as), std::ios::binary) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  LoadPolicy policy() const {
    LoadPolicy out;
    out.folders = {folder_.string()};
    return out;
  }
  Loaded load() const { return load(policy()); }
  static Loaded load(const LoadPolicy& policy) {
    return load_plugins(policy, std::make_shared<Team>(1), {});
  }

 private:
  fs::path folder_;
};

inline Verdict verdict_of(const Loaded& loaded, const std::string& file) {
  for (const Verdict& verdict : loaded.verdicts)
    if (fs::path(verdict.path).filename() == fs::path(file)) return verdict;
  ADD_FAILURE() << "no verdict for " << file;
  return {};
}

// The neighbour is none the worse for it.
inline void expect_cpu(const Loaded& loaded) {
  for (const auto& driver : loaded.drivers) {
    if (driver->id() != "org.ferrule.cpu") continue;
    ASSERT_FALSE(driver->devices().empty());
    EXPECT_EQ(driver->devices()[0].name, "cpu");
    EXPECT_FALSE(driver->devices()[0].claims.empty());
    return;
  }
  ADD_FAILURE() << "cpu did not load: " << verdict_of(loaded, "cpu.so").status.message();
}

}  // namespace ferrule::zoo
