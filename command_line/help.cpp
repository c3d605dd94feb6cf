#include "command_line/help.h"

#include <algorithm>

namespace hearth::command_line {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kEntryIndent = 2, kWidestName = 24, kNarrowestName = 8;

// Words of `text` from column `indent` on, in lines of at most kColumns; the text begins where `out` stands.
void append_wrapped(const std::string& text, std::size_t indent, std::size_t column, std::string& out) {
  std::size_t begin = 0;
  bool is_first = true;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!is_first && column + 1 + word.size() > kColumns) {
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

void append_entries(const std::vector<Entry>& entries, std::string& out) {
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
    append_wrapped(entry.text, text_column, text_column, out);
  }
}

void append_section(const std::string& title, const std::vector<Entry>& entries, std::string& out) {
  if (entries.empty()) return;
  out += "\n" + title + ":\n";
  append_entries(entries, out);
}

}  // namespace

std::string help_text(const Page& page) {
  std::string out;
  append_wrapped("Usage: " + page.synopsis, 7, 0, out);
  out += "\n";
  append_wrapped(page.summary, 0, 0, out);
  for (const std::string& paragraph : page.details) {
    out += "\n";
    append_wrapped(paragraph, 0, 0, out);
  }
  for (const Section& section : page.sections) append_section(section.title, section.entries, out);
  if (!page.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : page.examples) {
    out += "  " + example.command + "\n      ";
    append_wrapped(example.text, 6, 6, out);
  }
  append_section("Exit status", page.exit_statuses, out);
  append_section("Environment", page.environment, out);
  return out;
}

}  // namespace hearth::command_line
