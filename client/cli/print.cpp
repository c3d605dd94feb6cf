#include "client/cli/print.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/cord.h"
#include "client/cli/status_line.h"
#include "client/cli/terminal.h"
#include "runtime/printable.h"
#include "runtime/standard_output.h"

namespace hearth::cli {
namespace {

constexpr char kUsagePayload[] = "hearth.dev/usage";

Verbosity g_verbosity = Verbosity::kNormal;

}  // namespace

void set_verbosity(Verbosity verbosity) { g_verbosity = verbosity; }
Verbosity verbosity() { return g_verbosity; }

void put_line(std::string_view text) {
  clear_status_line();
  print(printable(text) + "\n");
}

void print_lines(std::string_view text) {
  print(printable_lines(text));
  if (!text.empty() && text.back() != '\n') print("\n");
}

void print_table(const Rows& rows) { print(table(rows, terminal_columns(STDOUT_FILENO))); }

void print_facts(const Rows& rows) { print(facts(rows, terminal_columns(STDOUT_FILENO))); }

void print_json(const nlohmann::ordered_json& json) {
  print(printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

void put_message(std::string_view text) {
  std::string message = "hearth: ";
  for (;;) {
    const std::size_t end = text.find('\n');
    message += printable(text.substr(0, end)) + "\n";
    if (end == std::string_view::npos || end + 1 == text.size()) break;
    message += "  ";
    text.remove_prefix(end + 1);
  }
  clear_status_line();
  std::fwrite(message.data(), 1, message.size(), stderr);
}

absl::Status usage_error_of(std::string message) {
  absl::Status error = absl::InvalidArgumentError(message);
  error.SetPayload(kUsagePayload, absl::Cord());
  return error;
}

int exit_code_of(const absl::Status& error) { return error.GetPayload(kUsagePayload) ? kUsageError : kFailure; }

}  // namespace hearth::cli
