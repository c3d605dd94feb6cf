// Where a program of this release is: beside the program that runs, beside the library that this is linked into or in
// the bin folder next to that, else on PATH. The current folder is never looked into: argv[0], relative names and
// relative folders of PATH lead nowhere. Thread-safe; no errors: nothing where it is nowhere.
//
//   std::optional<std::string> daemon = find_program("hearthd");
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hearth::runtime {

// Absolute. What is found beside the program or the library belongs to root, to this user or to the owner of the program,
// and not everybody may write it; PATH is the user's own word (base/program_path.h).
std::optional<std::string> find_program(std::string_view name);

}  // namespace hearth::runtime
