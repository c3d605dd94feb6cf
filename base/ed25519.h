// Ed25519 (RFC 8032; nettle's hogweed): signatures over whole messages by keys of 32 bytes. Thread-safe; holds no state.
//
//   const Ed25519Secret secret = Ed25519Secret::made();
//   const Ed25519Signature signature = secret.sign("what was built");
//   bool is_genuine = verifies(secret.public_key(), "what was built", signature);
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

using Ed25519PublicKey = std::array<std::uint8_t, 32>;
using Ed25519Signature = std::array<std::uint8_t, 64>;

// A private key. Its bytes are overwritten when it goes.
class Ed25519Secret {
 public:
  // A new key, of the kernel's random numbers; std::runtime_error where it gives none.
  static Ed25519Secret made();
  // The key that these bytes are; nothing for other than 32 of them.
  static std::optional<Ed25519Secret> of(std::string_view bytes);

  Ed25519Secret(Ed25519Secret&& other) noexcept;
  Ed25519Secret& operator=(Ed25519Secret&&) = delete;
  ~Ed25519Secret();

  const Ed25519PublicKey& public_key() const { return public_key_; }
  Ed25519Signature sign(std::string_view message) const;
  // For a file that nobody else reads.
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  Ed25519Secret() = default;

  std::array<std::uint8_t, 32> bytes_{};
  Ed25519PublicKey public_key_{};
};

// True if the owner of the key signed exactly this message, and the signature is in its one form (RFC 8032, 5.1.7).
bool verifies(const Ed25519PublicKey& key, std::string_view message, const Ed25519Signature& signature);

}  // namespace hearth
