// main of an example: flags, one line for an error, exit codes as hearth's: 0 done and printed, 1 failed, 2 wrong
// usage.
//
//   int main(int argc, char** argv) {
//     CLI::App app("…", "digits");
//     return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
//   }
#pragma once
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/printable.h"
#include "base/standard_output.h"

namespace hearth::examples {

inline int run_example(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& run) {
  return run_program(app.get_name().c_str(), [&] {
    const auto complain = [&app](const std::string& what) {
      std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), printable(what).c_str());
    };
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      print(app.help());
      return 0;
    } catch (const CLI::ParseError& error) {
      complain(error.what());
      return 2;
    }
    const absl::Status status = run();
    if (status.ok()) return 0;
    complain(std::string(status.message()));
    return 1;
  });
}

}  // namespace hearth::examples
