// The proof report: what a test counted, in one line. Printed when all tests of the program have run, and written to
// reports/ beside the build's bin/, a file a ctest entry, where scripts/test.sh finds it. Tests that were filtered out
// leave nothing.
//
//   report("proofs, 8 bits: 357 proved, 0 listed as not proved");
#pragma once
#include <string>

namespace hearth::test {

void report(const std::string& line);

}  // namespace hearth::test
