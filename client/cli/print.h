// Everything that the commands print goes through here, so that nothing from outside reaches a terminal unescaped and
// nothing that could not be written passes for done (base/printable.h, base/standard_output.h). Standard output
// has what was asked for; standard error has notes and errors, each line of which begins with "hearth: " or two blanks.
// --quiet leaves out summaries, notes and progress; --verbose adds details. One thread prints at a time.
//
//   print_line("output ", output.name, " ", shape_text(output.shape));
//   return usage_error("--dim ", text, ": expected NAME=N");
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/text.h"
#include "client/cli/table.h"

namespace hearth::cli {

enum class Verbosity { kQuiet, kNormal, kVerbose };
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// What is printed shows `name` in place of `path`, a path that the user did not give.
void show_path_as(const std::string& path, const std::string& name);

// ---- Standard output ----
// One line, whatever the text holds.
void put_line(std::string_view text);
template <typename... T>
void print_line(const T&... parts) {
  put_line(str_cat(parts...));
}
// A line about what was done, for commands whose result is not what they print.
template <typename... T>
void print_summary(const T&... parts) {
  if (verbosity() != Verbosity::kQuiet) put_line(str_cat(parts...));
}
// Text of several lines, as IR and assembly are.
void print_lines(std::string_view text);
void print_table(const Rows& rows);
void print_facts(const Rows& rows);
// Indented; always UTF-8: a byte that is none becomes U+FFFD.
void print_json(const nlohmann::ordered_json& json);

// ---- Standard error ----
// "hearth: " and the text; further lines of it are indented, so that no text can pass for two messages.
void put_message(std::string_view text);
template <typename... T>
void print_error(const T&... parts) {
  put_message(str_cat(parts...));
}
template <typename... T>
void note(const T&... parts) {
  if (verbosity() != Verbosity::kQuiet) put_message(str_cat(parts...));
}
template <typename... T>
void print_detail(const T&... parts) {
  if (verbosity() == Verbosity::kVerbose) put_message(str_cat(parts...));
}

// ---- Exit codes ----
inline constexpr int kFailure = 1, kUsageError = 2;
// An error of the command line itself, which no file or daemon has a part in: main exits with 2 instead of 1.
absl::Status usage_error_of(std::string message);
template <typename... T>
absl::Status usage_error(const T&... parts) {
  return usage_error_of(str_cat(parts...));
}
int exit_code_of(const absl::Status& error);

}  // namespace hearth::cli
