#include "client/cli/print.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "base/printable.h"
#include "base/standard_output.h"
#include "client/cli/status_line.h"
#include "client/cli/terminal.h"

namespace hearth::cli {
namespace {

constexpr char kUsagePayload[] = "hearth.dev/usage";

using Json = nlohmann::ordered_json;

Verbosity g_verbosity = Verbosity::kNormal;
std::vector<std::pair<std::string, std::string>> g_shown_names;  // of paths

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// As people know it: with the names of paths that stand for something else.
std::string shown(std::string_view text) {
  std::string out(text);
  for (const auto& [path, name] : g_shown_names) out = replaced(std::move(out), path, name);
  return out;
}

std::string shown_json(std::string text) {
  for (const auto& [path, name] : g_shown_names) {
    const std::string quoted = dumped(name, -1);
    text = replaced(std::move(text), path, quoted.substr(1, quoted.size() - 2));
  }
  return text;
}

Rows shown_cells(Rows rows) {
  if (g_shown_names.empty()) return rows;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = shown(cell);
  }
  return rows;
}

}  // namespace

void set_verbosity(Verbosity verbosity) { g_verbosity = verbosity; }
Verbosity verbosity() { return g_verbosity; }

void show_path_as(const std::string& path, const std::string& name) {
  g_shown_names.emplace_back(path, name);
  // The longest first: one path may begin another.
  std::sort(g_shown_names.begin(), g_shown_names.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

void put_line(std::string_view text) {
  clear_status_line();
  print(printable(shown(text)) + "\n");
}

void print_lines(std::string_view text) {
  print(printable_lines(shown(text)));
  if (!text.empty() && text.back() != '\n') print("\n");
}

void print_table(const Rows& rows) { print(table(shown_cells(rows), terminal_columns(STDOUT_FILENO))); }

void print_facts(const Rows& rows) { print(facts(shown_cells(rows), terminal_columns(STDOUT_FILENO))); }

void print_json(const Json& json) { print(printable_json(shown_json(dumped(json, 2))) + "\n"); }

void put_message(std::string_view given) {
  const std::string owned = shown(given);
  std::string_view text = owned;
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
