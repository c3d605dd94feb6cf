#include "runtime/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace hearth {

namespace {

// Fetched once: a fetch a digest costs more than hashing a key, and reading openssl.cnf more than a whole Prepare.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = [] {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    const EVP_MD* sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return sha256 != nullptr ? sha256 : EVP_sha256();
  }();
  return fetched;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest{};
  unsigned int size = digest.size();
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm(), nullptr);
  return digest;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string to_hex(const Digest& digest) {
  return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace hearth
