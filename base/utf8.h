// UTF-8 as RFC 3629 has it: no surrogates, nothing longer than it needs to be, nothing above U+10FFFF. Protobuf's
// strings must be UTF-8, names in models and paths need not be. Pure functions.
//
//   if (!is_utf8(name)) return absl::InvalidArgumentError(str_cat("the name '", name, "' is not UTF-8"));
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

struct CodePoint {
  std::int32_t value;  // negative: the first byte begins no character
  std::size_t bytes;   // at least 1
};

// `text` is not empty.
inline CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {static_cast<std::int32_t>(first), 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {-1, 1};
  std::uint32_t value = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {-1, 1};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kMin[size] || value > 0x10ffff || is_surrogate) return {-1, 1};
  return {static_cast<std::int32_t>(value), size};
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.value < 0) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

// The text with U+FFFD in place of every byte that begins no character.
inline std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    out += point.value < 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return out;
}

// The longest beginning of `text`, which is UTF-8, that has at most `max_bytes` and cuts no character.
inline std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

}  // namespace hearth
