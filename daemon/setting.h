// Setting: one of hearthd's, by the name that it has in the configuration file, and what --help says of it.
//
//   Setting drain{"drain_s", "longest wait for running calls at the end", {apply, "SECONDS", "30"}};
//   environment_name(drain);   // HEARTH_DRAIN_S
//   flag_name(drain);          // --drain
#pragma once
#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::daemon {

// How a setting's text becomes its value, and what --help says of that.
struct Value {
  template <class F>
  Value(F function) : apply(std::move(function)) {}
  template <class F>
  Value(F function, std::string kind_name, std::string standard_text, char between = '\0')
      : apply(std::move(function)),
        kind(std::move(kind_name)),
        standard(std::move(standard_text)),
        separator(between) {}

  std::function<absl::Status(const std::string&)> apply;
  std::string kind = "VALUE";
  std::string standard;   // the default, if it can be said
  char separator = '\0';  // between the parts of a list, which the configuration file may have as an array
};

struct Setting {
  const char* name;  // as in the file
  const char* help;
  Value value;
};

// One as it is in force.
struct SettingInForce {
  std::string name;
  std::string value;        // as it was given, or the default
  std::string from;         // "default", the configuration file's path, "environment" or "option"
  bool is_private = false;  // names users or files: for the operator alone
};

// Lists `settings` with their defaults, and makes each note in `in_force` what it is given next, from `from`. Both must
// outlive the settings.
void note_in_force(std::vector<Setting>& settings, const std::string& from, std::vector<SettingInForce>& in_force);

std::string environment_name(const Setting& setting);
std::string flag_name(const Setting& setting);
// Sentences: what it is, its default, its variable.
std::string help_of(const Setting& setting);

// "10GiB"; exact.
std::string bytes_text(std::uint64_t bytes);

}  // namespace hearth::daemon
