#include "daemon/setting_parsers.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/time/time.h>

#include <set>
#include <utility>

#include "base/ed25519_text.h"
#include "base/status_macros.h"

namespace hearth::daemon {

absl::StatusOr<std::uint64_t> parse_count(const std::string& text) {
  std::uint64_t value = 0;
  if (text.empty() || !absl::ascii_isdigit(text[0]) || !absl::SimpleAtoi(text, &value) || value > (1ull << 40)) {
    return absl::InvalidArgumentError("expected a whole number");
  }
  return value;
}

absl::StatusOr<std::uint64_t> parse_worker_count(const std::string& text) {
  absl::StatusOr<std::uint64_t> value = parse_count(text);
  if (value.ok() && *value > 1024) return absl::InvalidArgumentError("expected at most 1024 workers");
  return value;
}

absl::Status parse_folders(const std::string& text, std::vector<std::string>* folders) {
  folders->clear();
  for (absl::string_view folder : absl::StrSplit(text, ':', absl::SkipEmpty())) {
    if (folder[0] != '/') return absl::InvalidArgumentError(absl::StrCat("'", folder, "' is not an absolute path"));
    folders->emplace_back(folder);
  }
  return absl::OkStatus();
}

absl::Status parse_clients(const std::string& text, ClientPolicy* place) {
  absl::StatusOr<ClientPolicy> policy = ClientPolicy::parse(text);
  if (policy.ok()) *place = *std::move(policy);
  return policy.status();
}

absl::Status parse_sharing(const std::string& text, Sharing* place) {
  if (text != "node" && text != "uid") return absl::InvalidArgumentError("expected node or uid");
  *place = text == "node" ? Sharing::kNode : Sharing::kUser;
  return absl::OkStatus();
}

absl::Status parse_sealed_plans(const std::string& text, bool* takes_older_tuning) {
  if (text != "any" && text != "newest") return absl::InvalidArgumentError("expected any or newest");
  *takes_older_tuning = text == "any";
  return absl::OkStatus();
}

absl::Status parse_flag(const std::string& text, bool* place) {
  if (text != "true" && text != "false") return absl::InvalidArgumentError("expected true or false");
  *place = text == "true";
  return absl::OkStatus();
}

absl::Status parse_level(const std::string& text, std::string* place) {
  static const std::set<std::string> kLevels = {"trace", "debug", "info", "warn", "error", "off"};
  if (kLevels.count(text) == 0) return absl::InvalidArgumentError("expected trace, debug, info, warn, error or off");
  *place = text;
  return absl::OkStatus();
}

absl::Status parse_log_format(const std::string& text, bool* json) {
  if (text != "text" && text != "json") return absl::InvalidArgumentError("expected text or json");
  *json = text == "json";
  return absl::OkStatus();
}

absl::Status parse_public_keys(const std::string& text, std::vector<Ed25519PublicKey>* keys) {
  keys->clear();
  for (const std::string& word : static_cast<std::vector<std::string>>(absl::StrSplit(text, ',', absl::SkipEmpty()))) {
    HEARTH_ASSIGN_OR_RETURN(const Ed25519PublicKey key, parse_public_key(word));
    keys->push_back(key);
  }
  return absl::OkStatus();
}

absl::Status parse_key_ids(const std::string& text, std::vector<std::string>* ids) {
  constexpr std::size_t kDigits = 16;
  ids->clear();
  for (const absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::string id(absl::StripAsciiWhitespace(word));
    if (id.size() != kDigits || id.find_first_not_of("0123456789abcdef") != std::string::npos)
      return absl::InvalidArgumentError("expected ids of 16 hexadecimal digits, as hearth remote keygen prints them");
    ids->push_back(id);
  }
  return absl::OkStatus();
}

absl::Status parse_time(const std::string& text, std::int64_t* seconds) {
  absl::Time time;
  std::string ignored;
  if (!text.empty() && !absl::ParseTime("%Y-%m-%d%ET%H:%M:%E*S%Ez", text, &time, &ignored) &&
      !absl::ParseTime("%Y-%m-%d", text, &time, &ignored))
    return absl::InvalidArgumentError("expected a time such as 2026-01-31 or 2026-01-31T12:00:00Z");
  *seconds = text.empty() ? 0 : absl::ToUnixSeconds(time);
  return absl::OkStatus();
}

absl::Status parse_sandbox(const std::string& text, SandboxSetting* place) {
  for (const SandboxSetting setting : {SandboxSetting::kRequired, SandboxSetting::kBestEffort, SandboxSetting::kOff}) {
    if (text != name_of(setting)) continue;
    *place = setting;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("expected required, best-effort or off");
}

}  // namespace hearth::daemon
