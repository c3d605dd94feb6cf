#include "client/cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/printable.h"
#include "client/cli/display_width.h"

namespace hearth::cli {
namespace {

constexpr std::size_t kGap = 2;
// Columns are not cut below the first while there are wider ones, and never below the second.
constexpr std::size_t kNarrowest[] = {12, 6};

Rows printable_cells(Rows rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  return rows;
}

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

// Takes columns from the widest until the row fits; of several widest from the last.
void fit(std::vector<std::size_t>& widths, std::size_t columns) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (const std::size_t narrowest : kNarrowest) {
    for (; total > columns; --total) {
      const auto widest = std::max_element(widths.rbegin(), widths.rend());
      if (*widest <= narrowest) break;
      --*widest;
    }
  }
}

std::string padded(const std::string& cell, std::size_t width) {
  return cell + std::string(width - std::min(width, display_width(cell)), ' ');
}

}  // namespace

std::string table(const Rows& given, std::size_t columns) {
  const Rows rows = printable_cells(given);
  std::vector<std::size_t> widths = widths_of(rows);
  if (columns > 0 && !widths.empty()) fit(widths, columns);
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = shorten(row[i], widths[i]);
      line += i + 1 < row.size() ? padded(cell, widths[i] + kGap) : cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string facts(const Rows& given, std::size_t columns) {
  const Rows rows = printable_cells(given);
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, display_width(row.front()));
  std::string text;
  for (const auto& row : rows) {
    const std::string line = padded(row.front(), width + kGap) + row.back();
    text += (columns > width + kGap ? wrapped(line, columns, width + kGap) : line) + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word_begin = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t word_end = std::min(text.find(' ', word_begin), text.size());
    const std::string blanks = text.substr(at, word_begin - at), word = text.substr(word_begin, word_end - word_begin);
    const std::size_t width = display_width(word);
    if (used > indent && used + blanks.size() + width > columns) {
      out += "\n" + std::string(indent, ' ') + word;
      used = indent + width;
    } else {
      out += blanks + word;
      used += blanks.size() + width;
    }
    at = word_end;
  }
  return out;
}

}  // namespace hearth::cli
