// hearth: the command line of the compiler daemon. Every command is one file of this folder (program.cpp lists them).
#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "base/standard_output.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/print.h"
#include "client/cli/program.h"
#include "command_line/help.h"
#include "command_line/usage.h"

namespace {

using namespace hearth::cli;

// Which option gives a command that was late more time.
std::string time_hint(const absl::Status& error, const CLI::App& app) {
  const CLI::Option* option = hearth::command_line::parsed_command(app).get_option_no_throw("--timeout");
  if (!absl::IsDeadlineExceeded(error) || option == nullptr) return "";
  if (absl::StrContains(error.message(), "_limit_s")) return "";  // the daemon's own limit, which it names
  return " (--timeout SECONDS)";
}

bool wants_json(const CLI::App& app) {
  const CLI::Option* option = hearth::command_line::parsed_command(app).get_option_no_throw("--json");
  return option != nullptr && option->count() > 0;
}

int hearth_main(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  Program program;
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_help(hearth::command_line::parsed_command(program.app));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print_line(version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(hearth::command_line::usage_message(program.app, argc, argv, error));
    return kUsageError;
  }
  if (program.quiet && program.verbose) {
    print_error("--quiet and --verbose exclude each other");
    return kUsageError;
  }
  set_verbosity(program.quiet ? Verbosity::kQuiet : program.verbose ? Verbosity::kVerbose : Verbosity::kNormal);
  const absl::Status kept = keep_streams(hearth::command_line::parsed_command(program.app));
  const absl::StatusOr<int> code = kept.ok() ? program.action() : kept;
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  print_detail("the command took ", human_time(time.count()));
  if (code.ok()) return *code;
  print_error(code.status().message(), time_hint(code.status(), program.app));
  const int exit_code = exit_code_of(code.status());
  if (exit_code != kUsageError && wants_json(program.app)) {
    print_json({{"error",
                 {{"code", absl::StatusCodeToString(code.status().code())},
                  {"message", std::string(code.status().message())}}}});
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  return hearth::run_program("hearth", [&] { return hearth_main(argc, argv); });
}
