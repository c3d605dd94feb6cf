#include "daemon/remote/result_statement.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "kernels_cache/action_key.h"

namespace hearth::daemon {
namespace {

constexpr const char* kStatementDomain = "hearth.remote_result.v1";
constexpr std::size_t kNumberBytes = 8, kDigestBytes = std::tuple_size_v<Digest>,
                      kSignatureBytes = std::tuple_size_v<Ed25519Signature>;

std::string encoded(std::uint64_t value) {
  std::string bytes;
  for (std::size_t i = 0; i < kNumberBytes; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

Digest digest_of(std::string_view bytes) {
  Digest digest{};
  std::copy_n(bytes.begin(), digest.size(), digest.begin());
  return digest;
}

// The parts in their order; those of files stand between build_id and signed_at, any number of them.
cache::KeyMaterial material_of(const ResultStatement& statement, const Ed25519PublicKey& key) {
  cache::KeyMaterial material(kStatementDomain);
  material.add("domain", statement.domain);
  material.add("key", to_bytes(statement.key));
  material.add("kind", statement.kind);
  material.add("salt", statement.salt);
  material.add("flavour", to_bytes(statement.flavour));
  material.add("build_id", statement.build_id);
  for (const StatedFile& file : statement.files)
    material.add("file", to_bytes(file.digest) + encoded(file.size) + file.path);
  material.add("signed_at", encoded(static_cast<std::uint64_t>(statement.signed_at)));
  material.add("key_id", key_id(key));
  return material;
}

// Takes parts one after the other; nothing where the next one is another, or of another length.
class Parts {
 public:
  explicit Parts(const std::vector<cache::KeyPart>& parts) : parts_(parts) {}

  std::optional<std::string_view> next(std::string_view name, std::size_t size = std::string::npos) {
    if (!is_next(name) || (size != std::string::npos && parts_[at_].bytes.size() != size)) return std::nullopt;
    return parts_[at_++].bytes;
  }
  bool is_next(std::string_view name) const { return at_ < parts_.size() && parts_[at_].name == name; }
  bool is_end() const { return at_ == parts_.size(); }

 private:
  const std::vector<cache::KeyPart>& parts_;
  std::size_t at_ = 0;
};

struct Parsed {
  ResultStatement statement;
  std::string key_id;
};

std::optional<Parsed> parse(const cache::KeyMaterial& material) {
  if (material.domain() != kStatementDomain) return std::nullopt;
  Parts parts(material.parts());
  const auto domain = parts.next("domain"), key = parts.next("key", kDigestBytes), kind = parts.next("kind"),
             salt = parts.next("salt"), flavour = parts.next("flavour", kDigestBytes),
             build_id = parts.next("build_id");
  if (!domain || !key || !kind || !salt || !flavour || !build_id) return std::nullopt;
  Parsed parsed{{std::string(*domain),
                 digest_of(*key),
                 std::string(*kind),
                 std::string(*salt),
                 digest_of(*flavour),
                 std::string(*build_id),
                 {},
                 0},
                ""};
  while (parts.is_next("file")) {
    const std::string_view file = *parts.next("file");
    if (file.size() <= kDigestBytes + kNumberBytes || parsed.statement.files.size() == kMaxStatedFiles)
      return std::nullopt;
    parsed.statement.files.push_back(
        {std::string(file.substr(kDigestBytes + kNumberBytes)), digest_of(file), number(file.substr(kDigestBytes))});
  }
  const auto signed_at = parts.next("signed_at", kNumberBytes), id = parts.next("key_id");
  if (!signed_at || !id || !parts.is_end()) return std::nullopt;
  parsed.statement.signed_at = static_cast<std::int64_t>(number(*signed_at));
  parsed.key_id = std::string(*id);
  return parsed;
}

}  // namespace

std::string signed_statement(const ResultStatement& statement, const Ed25519Secret& secret) {
  std::string bytes = material_of(statement, secret.public_key()).encode();
  const Ed25519Signature signature = secret.sign(bytes);
  return bytes.append(reinterpret_cast<const char*>(signature.data()), signature.size());
}

absl::StatusOr<ResultStatement> verified_statement(std::string_view file, const TrustedKeys& trusted) {
  const auto invalid = [](std::string_view what) { return absl::InvalidArgumentError(str_cat("hearth.sig: ", what)); };
  if (file.size() > kMaxStatementBytes) return invalid(str_cat(file.size(), " bytes are more than a statement has"));
  if (file.size() < kSignatureBytes) return invalid("it is cut short");
  const std::string_view bytes = file.substr(0, file.size() - kSignatureBytes);
  const absl::StatusOr<cache::KeyMaterial> material = cache::KeyMaterial::decode(bytes);
  std::optional<Parsed> parsed = material.ok() ? parse(*material) : std::nullopt;
  if (!parsed) return invalid("it is no statement of this release");
  const auto refused = [&](std::string_view what) {
    return absl::PermissionDeniedError(str_cat("hearth.sig: key ", parsed->key_id, " ", what));
  };
  const auto key = std::ranges::find(trusted.keys, parsed->key_id, key_id);
  if (key == trusted.keys.end()) return absl::PermissionDeniedError("hearth.sig: it names a key that is not trusted");
  if (std::ranges::find(trusted.revoked, parsed->key_id) != trusted.revoked.end()) return refused("is revoked");
  Ed25519Signature signature{};
  std::copy_n(file.end() - static_cast<std::ptrdiff_t>(kSignatureBytes), kSignatureBytes, signature.begin());
  if (!verifies(*key, bytes, signature)) return refused("did not sign this");
  if (parsed->statement.signed_at < trusted.not_before)
    return refused("signed this before what is trusted (not_before)");
  return std::move(parsed->statement);
}

}  // namespace hearth::daemon
