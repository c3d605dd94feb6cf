// Skips that are counted: what a test case cannot check here, and why. catch_main.cpp prints them after the run, writes
// them to the file that HEARTH_TEST_REPORT names (scripts/test.sh adds those up), and ends a program of which nothing
// could run with exit code 77, which ctest calls "Skipped". A case that asserts nothing and does not say why fails.
//
//   if (!fs::exists(model)) SKIP_CASE(model.string() + " is not there");  // ends the case (of a void function)
//   if (!compiler.ok()) skip_part("there is no clang++-19");              // the rest of the case goes on
#pragma once
#include <string>

namespace hearth::test {

void skip_part(const std::string& reason);
void skip_rest(const std::string& reason);

}  // namespace hearth::test

#define SKIP_CASE(reason)              \
  do {                                 \
    ::hearth::test::skip_rest(reason); \
    return;                            \
  } while (false)
