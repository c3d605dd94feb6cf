// From the text of a setting to its value. Pure functions, but for parse_clients, which asks for users and groups of
// the machine; thread-safe. Errors: INVALID_ARGUMENT with what is expected; the caller adds whose text it was.
//
//   absl::Status status = parse_sharing("uid", &config.sharing);
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ed25519.h"
#include "daemon/sockets/client_policy.h"
#include "daemon/store/key_namespace.h"
#include "daemon/worker_pool/sandbox_status.h"

namespace hearth::daemon {

absl::StatusOr<std::uint64_t> parse_count(const std::string& text);
absl::StatusOr<std::uint64_t> parse_worker_count(const std::string& text);
// Absolute paths with ':' between them.
absl::Status parse_folders(const std::string& text, std::vector<std::string>* folders);
absl::Status parse_clients(const std::string& text, ClientPolicy* place);
absl::Status parse_sharing(const std::string& text, Sharing* place);
// "any" or "newest".
absl::Status parse_sealed_plans(const std::string& text, bool* takes_older_tuning);
absl::Status parse_flag(const std::string& text, bool* place);
// The log's level.
absl::Status parse_level(const std::string& text, std::string* place);
// "text" or "json".
absl::Status parse_log_format(const std::string& text, bool* json);
// Keys as hearth remote keygen prints them, and ids of keys, with ',' between them.
absl::Status parse_public_keys(const std::string& text, std::vector<Ed25519PublicKey>* keys);
absl::Status parse_key_ids(const std::string& text, std::vector<std::string>* ids);
// RFC 3339: "2026-01-31" or "2026-01-31T12:00:00Z"; seconds since 1970.
absl::Status parse_time(const std::string& text, std::int64_t* seconds);
absl::Status parse_sandbox(const std::string& text, SandboxSetting* place);

}  // namespace hearth::daemon
