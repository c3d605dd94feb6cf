// Ed25519 against RFC 8032, and what no key signed.
#include "base/ed25519.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/sha256.h"

namespace {

using hearth::Ed25519PublicKey;
using hearth::Ed25519Secret;
using hearth::Ed25519Signature;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <typename Bytes>
std::string hex_of(const Bytes& bytes) {
  return hearth::to_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// RFC 8032, 7.1.
struct Vector {
  const char *secret, *public_key, *message, *signature;
};
constexpr Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141"
     "438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d29"
     "1612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc"
     "027be"
     "ceea1ec40a"},
};

}  // namespace

TEST_CASE("ed25519 gives the keys and signatures of RFC 8032") {
  for (const Vector& vector : kVectors) {
    const auto secret = Ed25519Secret::of(from_hex(vector.secret));
    REQUIRE(secret);
    CHECK(hex_of(secret->public_key()) == vector.public_key);
    const Ed25519Signature signature = secret->sign(from_hex(vector.message));
    CHECK(hex_of(signature) == vector.signature);
    CHECK(hearth::verifies(secret->public_key(), from_hex(vector.message), signature));
  }
}

TEST_CASE("ed25519 refuses what its key did not sign: another message, key or signature, each bit of them") {
  const Ed25519Secret secret = Ed25519Secret::made(), other = Ed25519Secret::made();
  const std::string message = "kernel 7 was built for root";
  const Ed25519Signature signature = secret.sign(message);
  CHECK(hearth::verifies(secret.public_key(), message, signature));
  CHECK_FALSE(hearth::verifies(other.public_key(), message, signature));
  CHECK_FALSE(hearth::verifies(secret.public_key(), "", signature));
  CHECK_FALSE(hearth::verifies(secret.public_key(), message + "\n", signature));
  CHECK_FALSE(hearth::verifies(secret.public_key(), message, Ed25519Signature{}));
  for (std::size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    Ed25519Signature changed = signature;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1U << bit % 8));
    CHECK_FALSE(hearth::verifies(secret.public_key(), message, changed));
  }
  for (std::size_t bit = 0; bit < 8 * secret.public_key().size(); ++bit) {
    Ed25519PublicKey changed = secret.public_key();
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1U << bit % 8));
    CHECK_FALSE(hearth::verifies(changed, message, signature));
  }
  // The same signature with the group's order added to its second half would be another form of it.
  constexpr std::uint8_t kOrder[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
                                       0xa2, 0xde, 0xf9, 0xde, 0x14, 0,    0,    0,    0,    0,    0,
                                       0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};
  Ed25519Signature again = signature;
  unsigned carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += again[32 + i] + kOrder[i];
    again[32 + i] = static_cast<std::uint8_t>(carry), carry >>= 8;
  }
  CHECK_FALSE(hearth::verifies(secret.public_key(), message, again));
}

TEST_CASE("an ed25519 key is 32 bytes, is its own each time, and goes from one owner to the next") {
  CHECK_FALSE(Ed25519Secret::of(""));
  CHECK_FALSE(Ed25519Secret::of(std::string(31, 'k')));
  CHECK_FALSE(Ed25519Secret::of(std::string(33, 'k')));
  Ed25519Secret first = Ed25519Secret::made();
  CHECK(first.public_key() != Ed25519Secret::made().public_key());
  const std::string bytes(first.bytes());
  const Ed25519Secret moved = std::move(first);
  CHECK(moved.bytes() == bytes);
  CHECK(first.bytes() == std::string(32, '\0'));  // nothing stays behind
  CHECK(Ed25519Secret::of(bytes)->public_key() == moved.public_key());
}
