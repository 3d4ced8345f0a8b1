#include "conformance/suite/case.h"

int main() { return 2; }
