#include "base/ed25519.h"

#include <nettle/eddsa.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace hearth {
namespace {

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

}  // namespace

Ed25519Secret Ed25519Secret::made() {
  Ed25519Secret secret;
  ssize_t got = 0;
  do got = ::getrandom(secret.bytes_.data(), secret.bytes_.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(secret.bytes_.size())) throw std::runtime_error("the kernel gives no random numbers");
  ed25519_sha512_public_key(secret.public_key_.data(), secret.bytes_.data());
  return secret;
}

std::optional<Ed25519Secret> Ed25519Secret::of(std::string_view bytes) {
  Ed25519Secret secret;
  if (bytes.size() != secret.bytes_.size()) return std::nullopt;
  std::copy_n(bytes_of(bytes), bytes.size(), secret.bytes_.data());
  ed25519_sha512_public_key(secret.public_key_.data(), secret.bytes_.data());
  return secret;
}

Ed25519Secret::Ed25519Secret(Ed25519Secret&& other) noexcept : bytes_(other.bytes_), public_key_(other.public_key_) {
  ::explicit_bzero(other.bytes_.data(), other.bytes_.size());
}

Ed25519Secret::~Ed25519Secret() { ::explicit_bzero(bytes_.data(), bytes_.size()); }

Ed25519Signature Ed25519Secret::sign(std::string_view message) const {
  Ed25519Signature signature{};
  ed25519_sha512_sign(public_key_.data(), bytes_.data(), message.size(), bytes_of(message), signature.data());
  return signature;
}

bool verifies(const Ed25519PublicKey& key, std::string_view message, const Ed25519Signature& signature) {
  return ed25519_sha512_verify(key.data(), message.size(), bytes_of(message), signature.data()) == 1;
}

}  // namespace hearth
