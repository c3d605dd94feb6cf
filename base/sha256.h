// SHA-256 (nettle), the identity of everything that crosses a process: keys, artifacts, canonical texts.
// Thread-safe; holds no state. Example:  std::string hex = to_hex(sha256("abc"));
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);

// Lower-case hexadecimal of any bytes.
std::string to_hex(std::string_view bytes);
std::string to_hex(const Digest& digest);

// The digest as 32 raw bytes, as protos carry it.
inline std::string to_bytes(const Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace hearth
