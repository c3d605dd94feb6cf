// Programs as users name them: by an absolute path, or by a name that PATH leads to. The current folder, which may be
// anybody's, is never looked into: relative paths and relative folders of PATH lead nowhere. Thread-safe; no errors:
// nothing where there is none.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hearth::runtime {

// True for a regular file that this process may execute.
bool is_program(const std::string& path);
// True for such a file whose path is absolute.
bool is_absolute_program(const std::string& path);
// On PATH (the system's own where it is not set), but not in the folder `not_in`. Absolute.
std::optional<std::string> find_on_path(std::string_view name, std::string_view not_in = {});
// What a user names: an absolute path as it is, a name without '/' as find_on_path, any other path as none.
std::optional<std::string> find_named_program(const std::string& name, std::string_view not_in = {});

}  // namespace hearth::runtime
