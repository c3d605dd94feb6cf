// Rows of text in columns, two blanks apart. On a terminal they fit its width (`columns`); everywhere else (0) nothing
// is cut, so that what a pipe or a file gets is complete and the same on every machine. Cells may hold anything: they
// are made printable. Pure functions.
//
//   print_table({{"kernel", "time"}, {"conv1", "3.0 ms"}});   // client/cli/print.h
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace hearth::cli {

using Rows = std::vector<std::vector<std::string>>;

// The first row is the heading. What does not fit is cut from the widest columns and shown by "…".
std::string table(const Rows& rows, std::size_t columns = 0);
// Names and what is to be said of them; what does not fit goes on below, nothing is cut.
std::string facts(const Rows& rows, std::size_t columns = 0);
// `text` in lines of at most `columns`, broken at blanks, all but the first indented. A longer word has its own line.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent);

}  // namespace hearth::cli
