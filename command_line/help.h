// What --help prints: a Page as text.
//
//   print(help_text(page_of(command)));
#pragma once
#include <string>

#include "command_line/page.h"

namespace hearth::command_line {

inline constexpr std::size_t kHelpColumns = 80;  // at most, however wide a terminal is

std::string help_text(const Page& page, std::size_t columns = kHelpColumns);

}  // namespace hearth::command_line
