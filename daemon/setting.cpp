#include "daemon/setting.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <iterator>

namespace hearth::daemon {

void note_in_force(std::vector<Setting>& settings, const std::string& from, std::vector<SettingInForce>& in_force) {
  in_force.clear();
  for (const Setting& setting : settings) {
    const std::string& kind = setting.value.kind;
    const bool names =
        kind == "FILE" || kind == "FOLDER" || kind == "FOLDERS" || kind.find("NAME") != std::string::npos;
    in_force.push_back({setting.name, setting.value.standard, "default", names});
  }
  for (std::size_t i = 0; i < settings.size(); ++i) {
    settings[i].value.apply = [apply = std::move(settings[i].value.apply), i, &from,
                               &in_force](const std::string& value) {
      absl::Status applied = apply(value);
      if (applied.ok()) {
        in_force[i].value = value;
        in_force[i].from = from;
      }
      return applied;
    };
  }
}

std::string environment_name(const Setting& setting) {
  return absl::StrCat("HEARTH_", absl::AsciiStrToUpper(setting.name));
}

std::string flag_name(const Setting& setting) {
  std::string name = setting.name;
  for (char& c : name) c = c == '_' ? '-' : c;
  if (name.size() > 2 && name.compare(name.size() - 2, 2, "-s") == 0) name.resize(name.size() - 2);
  return "--" + name;
}

std::string help_of(const Setting& setting) {
  std::string text = setting.help;
  text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  absl::StrAppend(&text, ".");
  if (!setting.value.standard.empty()) absl::StrAppend(&text, " Default: ", setting.value.standard, ".");
  return absl::StrCat(text, " Environment: ", environment_name(setting), ".");
}

std::string bytes_text(std::uint64_t bytes) {
  const char* const units[] = {"", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return absl::StrCat(bytes, units[unit]);
}

}  // namespace hearth::daemon
