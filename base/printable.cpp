#include "base/printable.h"

#include <utf8proc.h>

#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace hearth {
namespace {

constexpr std::uint32_t kZeroWidthNonJoiner = 0x200c, kZeroWidthJoiner = 0x200d;  // Persian and emoji need them

bool is_unsafe(std::int32_t code_point) {
  if (code_point == kZeroWidthNonJoiner || code_point == kZeroWidthJoiner) return false;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_CC:  // control
    case UTF8PROC_CATEGORY_CF:  // format: direction marks and overrides, invisible characters
    case UTF8PROC_CATEGORY_CS:  // surrogate
    case UTF8PROC_CATEGORY_ZL:  // line separator
    case UTF8PROC_CATEGORY_ZP:  // paragraph separator
      return true;
    default:
      return false;
  }
}

void append_escape(const CodePoint& point, unsigned char byte, std::string* out) {
  char escape[16];
  if (point.value == '\n' || point.value == '\r' || point.value == '\t') {
    const char letter = point.value == '\n' ? 'n' : point.value == '\r' ? 'r' : 't';
    std::snprintf(escape, sizeof escape, "\\%c", letter);
  } else if (point.value < 0x80) {
    std::snprintf(escape, sizeof escape, "\\x%02x", byte);
  } else {
    std::snprintf(escape, sizeof escape, point.value <= 0xffff ? "\\u%04x" : "\\U%08x",
                  static_cast<unsigned>(point.value));
  }
  *out += escape;
}

std::string escaped(std::string_view text, bool keep_layout) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const bool is_layout = point.value == '\n' || point.value == '\t';
    if (point.value >= 0 && (!is_unsafe(point.value) || (keep_layout && is_layout))) {
      out += text.substr(0, point.bytes);
    } else {
      append_escape(point, static_cast<unsigned char>(text[0]), &out);
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

void append_json_escape(std::int32_t code_point, std::string* out) {
  char escape[16];
  const auto value = static_cast<std::uint32_t>(code_point);
  if (value <= 0xffff) {
    std::snprintf(escape, sizeof escape, "\\u%04x", value);
  } else {  // a surrogate pair
    std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd800 + ((value - 0x10000) >> 10),
                  0xdc00 + ((value - 0x10000) & 0x3ff));
  }
  *out += escape;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, /*keep_layout=*/false); }

std::string printable_lines(std::string_view text) { return escaped(text, /*keep_layout=*/true); }

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const CodePoint point = first_code_point(json);
    if (point.value < 0) {
      out += "\xef\xbf\xbd";                                     // U+FFFD
    } else if (is_unsafe(point.value) && point.value != '\n') {  // line breaks stand between tokens only
      append_json_escape(point.value, &out);
    } else {
      out += json.substr(0, point.bytes);
    }
    json.remove_prefix(point.bytes);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  return std::string(utf8_prefix(text, max_bytes)) + "… (" + std::to_string(text.size()) + " bytes)";
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  return shortened(printable(shortened(text, max_bytes)), max_bytes);
}

}  // namespace hearth
