// Where a program of this release is: beside the program that runs, beside the library that this is linked into or in
// the bin folder next to that, else on PATH. Thread-safe; no errors: nothing where it is nowhere.
//
//   std::optional<std::string> daemon = find_program("hearthd");
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hearth::runtime {

std::optional<std::string> find_program(std::string_view name);
// Whether `path` is a regular file that this process may execute.
bool is_program(const std::string& path);

}  // namespace hearth::runtime
