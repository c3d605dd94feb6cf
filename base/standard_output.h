// Standard output that is checked: a program whose results could not be written has failed, and says so. run_program
// is all of main; print() and the standard library's streams may be used inside of it. A reader that is gone ends the
// program as it ends cat: silently, by SIGPIPE, unless the signal is ignored. One thread prints at a time.
//
//   int main(int argc, char** argv) {
//     return hearth::run_program("digits", [&] { return digits_main(argc, argv); });
//   }
#pragma once
#include <functional>
#include <string_view>

namespace hearth {

// Writes to standard output, buffered. A failure shows in run_program's exit code.
void print(std::string_view text);

// Runs `body`, then writes out what is buffered. Returns the body's exit code; 1 instead of 0, with a line on stderr,
// when not everything that was printed could be written. Descriptors 0 to 2 that the caller left closed are occupied
// first, so that no file opened later takes their place and gets what is printed.
int run_program(const char* name, const std::function<int()>& body);

}  // namespace hearth
