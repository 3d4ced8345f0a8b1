// The ferrule program as a user meets it: arguments in, exit code and two texts out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ferrule {

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

// A folder of its own for a test program, gone at its end.
class Scratch {
 public:
  Scratch()
      : path_(std::filesystem::temp_directory_path() / ("cli_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  const std::filesystem::path& path() const { return path_; }
  void file(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }

 private:
  std::filesystem::path path_;
};

// Arguments are shell text in the scratch folder; $M is the folder of a small real model,
// $F the program. A hang is
// exit code 124.
inline Ran run_program(const Scratch& scratch, const std::string& arguments) {
  const std::string command =
      "cd " + scratch.path().string() + " && export HOME=$PWD XDG_CONFIG_HOME= XDG_CACHE_HOME= M=" +
      FRL_TEST_DATA "/models/real/mnist_cntk F=" FRL_BUILD_DIR
                    "/bin/ferrule && { timeout 60 " FRL_BUILD_DIR "/bin/ferrule " +
      arguments + "; } >stdout.txt 2>stderr.txt 3>&-";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, scratch.text("stdout.txt"),
          scratch.text("stderr.txt")};
}

}  // namespace ferrule
