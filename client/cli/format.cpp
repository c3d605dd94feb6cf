#include "client/cli/format.h"

#include <cctype>
#include <cstdio>

#include "base/printable.h"
#include "base/utf8.h"

namespace hearth::cli {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string human_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string human_time(double microseconds) {
  if (microseconds < 0.1) return fixed(microseconds * 1e3, 0) + " ns";
  if (microseconds < 1e3) return fixed(microseconds, 1) + " us";
  if (microseconds < 1e6) return fixed(microseconds / 1e3, 1) + " ms";
  return fixed(microseconds / 1e6, 2) + " s";
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string file_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;  // bytes; file systems take 255, and more is appended
  std::string text;
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view letter = rest.substr(0, first_code_point(rest).bytes);
    const auto c = static_cast<unsigned char>(letter[0]);
    const bool is_kept = c < 0x80 ? std::isalnum(c) || c == '.' || c == '-' || c == '_' : printable(letter) == letter;
    text += is_kept ? letter : "_";
    rest.remove_prefix(letter.size());
  }
  for (std::size_t i = 0; i < text.size() && (text[i] == '.' || text[i] == '-'); ++i) text[i] = '_';
  return text.empty() ? "_" : std::string(utf8_prefix(text, kLongest));
}

}  // namespace hearth::cli
