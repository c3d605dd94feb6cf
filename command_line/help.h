// What --help prints: a Page as text of at most 80 columns.
//
//   print(help_text(page_of(command)));
#pragma once
#include <string>

#include "command_line/page.h"

namespace hearth::command_line {

std::string help_text(const Page& page);

}  // namespace hearth::command_line
