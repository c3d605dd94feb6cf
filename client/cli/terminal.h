// What a stream of this process is connected to.
//
//   print_table(rows) fits into terminal_columns(STDOUT_FILENO).
#pragma once
#include <cstddef>

namespace hearth::cli {

// The width of the terminal behind the descriptor now; 80 when it does not say; 0 when it is no terminal.
std::size_t terminal_columns(int descriptor);
// Whether a line may be rewritten in place there: a terminal, and not one that calls itself dumb.
bool can_rewrite_lines(int descriptor);

}  // namespace hearth::cli
