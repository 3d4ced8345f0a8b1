#include "conformance/runner/program.h"

int main(int argc, char** argv) {
  using namespace ferrule::conformance;
  return run_program(families(), argc, argv);
}
