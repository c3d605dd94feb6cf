// ResultStatement: what a writer states of a result in a remote cache, and its signed form, the output file "hearth.sig"
// that every result has. A reader loads nothing that no key it trusts has stated. Plain values; functions are
// thread-safe. Errors: INVALID_ARGUMENT for bytes that are no statement; PERMISSION_DENIED, naming the key, for one that
// no trusted key signed, that is of a revoked key, or that is older than results may be.
//
//   const std::string file = signed_statement(statement, secret);
//   absl::StatusOr<ResultStatement> stated = verified_statement(file, trusted);
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ed25519_text.h"
#include "base/sha256.h"

namespace hearth::daemon {

struct StatedFile {
  std::string path;  // within the result: "plan", "k/<hex>", "kernel", "blob"
  Digest digest{};
  std::uint64_t size = 0;  // bytes
  bool operator==(const StatedFile&) const = default;
};

struct ResultStatement {
  std::string domain;  // of the key's material: "hearth.plan.v3"
  Digest key{};        // of what was asked for
  std::string kind;    // "plan", "kernel" or "blob"
  std::string salt;    // of the configuration
  Digest flavour{};    // of the worker and the files that it maps
  std::string build_id;
  std::vector<StatedFile> files;  // all of the result, but for the statement itself
  std::int64_t signed_at = 0;     // seconds since 1970
  bool operator==(const ResultStatement&) const = default;
};

// Whose statements count.
struct TrustedKeys {
  std::vector<Ed25519PublicKey> keys;
  std::vector<std::string> revoked;  // ids, whose statements count no longer, whenever they were made
  std::int64_t not_before = 0;       // seconds since 1970: statements made earlier do not count
};

inline constexpr std::size_t kMaxStatementBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxStatedFiles = 4096;

// The content of hearth.sig.
std::string signed_statement(const ResultStatement& statement, const Ed25519Secret& secret);
absl::StatusOr<ResultStatement> verified_statement(std::string_view file, const TrustedKeys& trusted);

}  // namespace hearth::daemon
