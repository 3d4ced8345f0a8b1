// The fuzz target on files that are changed a little, the same way every time.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/model/build.h"
#include "tests/model/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace ferrule {
namespace {

namespace fs = std::filesystem;

void feed(const std::string& file) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(file.data()), file.size());
}

// One byte flipped, a few overwritten, a piece cut out or doubled.
std::string mutated(std::string file, std::mt19937& random) {
  const auto place = [&] { return size_t(random() % file.size()); };
  for (unsigned change = 1 + random() % 3; change > 0 && !file.empty(); --change) {
    const size_t at = place(), length = std::min<size_t>(1 + random() % 8, file.size() - at);
    switch (random() % 5) {
      case 0:
        file[at] = char(file[at] ^ (1 << random() % 8));
        break;
      case 1:
        file[at] = char(random());
        break;
      case 2:
        file.erase(at, length);
        break;
      case 3:
        file.insert(at, file.substr(at, length));
        break;
      default:
        file.replace(at, 1, build::varint(uint64_t(random()) << random() % 40));
        break;
    }
  }
  return file;
}

TEST(Mutation, NoFileBreaksTheImporter) {
  constexpr size_t kLargest = 4096;
  constexpr int kEach = 20;
  std::mt19937 random(7);
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator("/usr/share/libonnx-testdata/data/node"))
    paths.push_back(entry.path().string() + "/model.onnx");
  std::sort(paths.begin(), paths.end());
  size_t n_fed = 0;
  for (const std::string& path : paths) {
    const std::string file = read_text(path);
    if (file.empty() || file.size() > kLargest) continue;
    for (int n = 0; n < kEach; ++n) feed(mutated(file, random));
    ++n_fed;
  }
  EXPECT_GT(n_fed, 700u);
}

}  // namespace
}  // namespace ferrule

// The target is a translation unit of its own for the fuzzer; here it is part of the test.
#include "tests/fuzz/onnx_fuzz.cc"
