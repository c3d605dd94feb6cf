#include "command_line/manual.h"

#include <algorithm>
#include <string_view>

namespace hearth::command_line {
namespace {

constexpr std::size_t kLongestLine = 72;  // before escapes

// Text as it stands: no escape, no hyphen that is broken or made a dash of, no request at a line's start.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      out += c;
    }
  }
  if (!out.empty() && out[0] == '.') out.insert(0, "\\&");
  return out;
}

// A sentence begins a line, as the macros' manual asks for; no line is longer than an editor shows.
std::string prose(const std::string& text) {
  std::string out, line;
  const auto end_line = [&] {
    if (!line.empty()) out += literal(line) + "\n";
    line.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (line.size() + 1 + word.size() > kLongestLine) end_line();
    line += (line.empty() ? "" : " ") + word;
    if (word.back() == '.') end_line();
  }
  end_line();
  return out;
}

std::string argument(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\\(dq" : std::string(1, c);
  return out + "\"";
}

std::string entries_text(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) out += ".TP\n.B " + argument(literal(entry.name)) + "\n" + prose(entry.text);
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string section_text(const std::string& title, const std::vector<Entry>& entries) {
  return entries.empty() ? "" : ".SH " + argument(upper(title)) + "\n" + entries_text(entries);
}

std::string see_also_text(const std::vector<std::string>& pages) {
  std::string out;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::size_t bracket = pages[i].find('(');
    out += ".BR " + literal(pages[i].substr(0, bracket)) + " " + pages[i].substr(bracket) +
           (i + 1 < pages.size() ? " ,\n" : "\n");
  }
  return out.empty() ? "" : ".SH \"SEE ALSO\"\n" + out;
}

}  // namespace

std::string manual_name(const Page& page) {
  std::string name = page.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const Page& page, int section, const std::string& source) {
  const std::string name = manual_name(page);
  std::string summary = page.summary;
  if (!summary.empty() && summary.back() == '.') summary.pop_back();
  std::string out = ".TH " + argument(upper(name)) + " " + std::to_string(section) + " \"\" " + argument(source) + "\n";
  out += ".SH NAME\n" + literal(name) + " \\- " + literal(summary) + "\n";
  out += ".SH SYNOPSIS\n.B " + argument(literal(page.synopsis)) + "\n";
  out += ".SH DESCRIPTION\n" + prose(page.summary);
  for (const std::string& paragraph : page.details) out += ".PP\n" + prose(paragraph);
  for (const Section& one : page.sections) out += section_text(one.title, one.entries);
  out += section_text("Exit status", page.exit_statuses) + section_text("Environment", page.environment);
  if (!page.examples.empty()) out += ".SH EXAMPLES\n";
  for (const Example& example : page.examples) {
    out += ".TP\n.B " + argument(literal(example.command)) + "\n" + prose(example.text);
  }
  return out + see_also_text(page.see_also);
}

}  // namespace hearth::command_line
