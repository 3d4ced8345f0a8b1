// Running the suite, or one with fake families, as its user does; and reading what it left.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "conformance/report/json_lines.h"
#include "core/base/text.h"

namespace ferrule::conformance::test {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "ferrule-conformance-XXXXXX").string();
    if (!::mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

struct Said {
  int code = -1;
  std::string text;
};

inline Said run_at(const std::string& path, const std::string& arguments) {
  const std::string line = cat(path, " ", arguments, " 2>&1");
  FILE* pipe = ::popen(line.c_str(), "r");
  Said out;
  if (!pipe) return out;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.text.append(buffer, n);
  const int status = ::pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

inline Said run(const std::string& program, const std::string& arguments) {
  return run_at(cat(FRL_BUILD_DIR "/bin/", program), arguments);
}

constexpr const char* kTemplate = FRL_BUILD_DIR "/examples/template.so";

inline Report report_in(const Folder& folder, const std::string& name = "report") {
  const auto read = parse_report(folder.read(name + "/report.jsonl"));
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? read->report : Report();
}

inline Record record_of(const Report& report, const std::string& name) {
  for (const Record& record : report.records)
    if (record.name == name) return record;
  ADD_FAILURE() << "no record of " << name;
  return {};
}

}  // namespace ferrule::conformance::test
