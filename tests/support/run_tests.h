// All of a Catch2 program but its main (main.cpp), which lies apart: of an archive a program with a main of its own may
// take the one and not the other.
#pragma once

namespace hearth::test {

// main's arguments and result; 77 where all was skipped.
int run_tests(int argc, char** argv);

}  // namespace hearth::test
