#include "client/cli/shell_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/printable.h"
#include "client/cli/format.h"

namespace hearth::cli {
namespace {

bool is_plain(unsigned char c) {
  constexpr std::string_view kPlain = "_-./=:,+@%";
  return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
}

// $'…', which bash, zsh and the next POSIX know: every byte that is not plain as its number.
std::string escaped(const std::string& word) {
  std::string text = "$'";
  for (const unsigned char c : word) {
    if (is_plain(c) || c == ' ') {
      text += static_cast<char>(c);
    } else {
      text += "\\x" + hex(std::string_view(reinterpret_cast<const char*>(&c), 1));
    }
  }
  return text + "'";
}

}  // namespace

std::string shell_path(const std::string& path) { return shell_word(path.rfind('-', 0) == 0 ? "./" + path : path); }

std::string shell_word(const std::string& word) {
  if (printable(word) != word) return escaped(word);
  if (!word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return is_plain(c) || c >= 0x80; }))
    return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace hearth::cli
