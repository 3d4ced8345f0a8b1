// A stranger's program: one model through the C++ API.
#include <cstdio>
#include <vector>

#include "ferrule/ferrule.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ferrule_options options{};
  options.ignore_files = 1;
  auto runtime = ferrule::api::Runtime::open(options);
  if (!runtime) return std::printf("%s\n", runtime.error().text.c_str()), 1;
  auto session = runtime->load(argv[1]);
  if (!session) return std::printf("%s\n", session.error().text.c_str()), 1;
  const std::vector<float> image(28 * 28, 1.0f);
  const std::vector<int64_t> extents = {1, 1, 28, 28};
  const ferrule_tensor input = ferrule::api::tensor<float>("Input3", image, extents);
  auto outputs = session->run(std::span(&input, 1));
  if (!outputs) return std::printf("%s\n", outputs.error().text.c_str()), 1;
  if (outputs->elements<float>(0).size() != 10 || !outputs->elements<double>(0).empty()) return 1;
  // Bad input is a sentence, and the session goes on.
  const ferrule_tensor wrong = ferrule::api::tensor<float>("Input4", image, extents);
  const auto refused = session->run(std::span(&wrong, 1));
  if (refused || refused.error().text.find("did you mean Input3") == std::string::npos) return 1;
  if (!session->run(std::span(&input, 1))) return 1;
  if (runtime->load("/nowhere.onnx")) return 1;
  std::printf("embedded: %zu outputs\n", outputs->elements<float>(0).size());
  return 0;
}
