#include "command_line/help.h"

#include <algorithm>

namespace hearth::command_line {
namespace {

constexpr std::size_t kEntryIndent = 2, kWidestName = 24, kNarrowestName = 8;

// The text of a page so far.
struct Text {
  std::string all;
  std::size_t columns;
};

// Words of `text` from column `indent` on, in lines that fit; the text begins where `out` stands.
void append_wrapped(const std::string& text, std::size_t indent, std::size_t column, Text& to) {
  std::string& out = to.all;
  std::size_t begin = 0;
  bool is_first = true;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!is_first && column + 1 + word.size() > to.columns) {
      out += "\n" + std::string(indent, ' ') + word;
      column = indent + word.size();
    } else {
      out += (is_first ? "" : " ") + word;
      column += (is_first ? 0 : 1) + word.size();
    }
    is_first = false;
  }
  out += "\n";
}

void append_entries(const std::vector<Entry>& entries, Text& to) {
  std::string& out = to.all;
  std::size_t widest = kNarrowestName;
  for (const Entry& entry : entries) {
    if (entry.name.size() <= kWidestName) widest = std::max(widest, entry.name.size());
  }
  const std::size_t text_column = kEntryIndent + widest + 2;
  for (const Entry& entry : entries) {
    out += std::string(kEntryIndent, ' ') + entry.name;
    std::size_t column = kEntryIndent + entry.name.size();
    if (column + 2 > text_column) {
      out += "\n";
      column = 0;
    }
    out += std::string(text_column - column, ' ');
    append_wrapped(entry.text, text_column, text_column, to);
  }
}

void append_section(const std::string& title, const std::vector<Entry>& entries, Text& to) {
  if (entries.empty()) return;
  to.all += "\n" + title + ":\n";
  append_entries(entries, to);
}

}  // namespace

std::string help_text(const Page& page, std::size_t columns) {
  Text text{"", columns};
  append_wrapped("Usage: " + page.synopsis, 7, 0, text);
  text.all += "\n";
  append_wrapped(page.summary, 0, 0, text);
  for (const std::string& paragraph : page.details) {
    text.all += "\n";
    append_wrapped(paragraph, 0, 0, text);
  }
  for (const Section& section : page.sections) append_section(section.title, section.entries, text);
  if (!page.examples.empty()) text.all += "\nExamples:\n";
  for (const Example& example : page.examples) {
    text.all += "  " + example.command + "\n      ";
    append_wrapped(example.text, 6, 6, text);
  }
  append_section("Exit status", page.exit_statuses, text);
  append_section("Environment", page.environment, text);
  return text.all;
}

}  // namespace hearth::command_line
