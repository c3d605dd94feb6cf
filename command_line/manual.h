// A Page as a manual page, in the man(7) macros that groff and mandoc read.
//
//   write_file("hearth-run.1", {manual_page(page_of(command), 1, "Hearth 0.1.0")});
#pragma once
#include <string>

#include "command_line/page.h"

namespace hearth::command_line {

// "hearth-run": what `man` is asked for.
std::string manual_name(const Page& page);
// `source` is what the page's foot says it belongs to.
std::string manual_page(const Page& page, int section, const std::string& source);

}  // namespace hearth::command_line
