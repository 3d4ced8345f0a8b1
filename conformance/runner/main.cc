#include "conformance/raw/process.h"
#include "conformance/runner/program.h"

int main(int argc, char** argv) {
  using namespace ferrule::conformance;
  if (const auto code = raw::serve_errand(argc, argv)) return *code;
  return run_program(families(), argc, argv);
}
