#include "client/cli/display_width.h"

#include <utf8proc.h>

#include <vector>

#include "base/utf8.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kEllipsis = "…";

struct Letter {
  std::string_view bytes;
  std::size_t columns;
};

std::vector<Letter> letters_of(std::string_view text) {
  std::vector<Letter> letters;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const int columns = point.value < 0 ? 1 : utf8proc_charwidth(point.value);
    letters.push_back({text.substr(0, point.bytes), static_cast<std::size_t>(columns)});
    text.remove_prefix(point.bytes);
  }
  return letters;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (const Letter& letter : letters_of(text)) columns += letter.columns;
  return columns;
}

std::string shorten(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::string kept;
  std::size_t used = 1;  // by the ellipsis
  for (const Letter& letter : letters_of(text)) {
    used += letter.columns;
    if (used > columns) break;
    kept += letter.bytes;
  }
  return kept += kEllipsis;
}

std::string shorten_front(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::vector<Letter> letters = letters_of(text);
  std::size_t used = 1, kept_bytes = 0;
  for (auto letter = letters.rbegin(); letter != letters.rend() && used + letter->columns <= columns; ++letter) {
    used += letter->columns;
    kept_bytes += letter->bytes.size();
  }
  // Marks that were left without their letter go with it.
  std::string_view kept = text.substr(text.size() - kept_bytes);
  while (!kept.empty() && letters_of(kept)[0].columns == 0) kept.remove_prefix(letters_of(kept)[0].bytes.size());
  return std::string(kEllipsis).append(kept);
}

}  // namespace hearth::cli
