#include "blobs/tools/depfile.h"

namespace hearth::blobs {

std::vector<std::string> parse_depfile(std::string_view text) {
  std::vector<std::string> files;
  std::string word;
  bool in_prerequisites = false;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (in_prerequisites) {
      files.push_back(word);
    } else if (word.back() == ':') {
      in_prerequisites = true;
    }
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      end_word();
      ++i;
      if (next == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == ':')) {
      word.push_back(next);
      ++i;
    } else if (c == '$' && next == '$') {
      word.push_back('$');
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else if (c == '\n') {
      end_word();
      in_prerequisites = false;
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return files;
}

}  // namespace hearth::blobs
