#include "tests/support/run_tests.h"

int main(int argc, char** argv) { return hearth::test::run_tests(argc, argv); }
