// The folder in which programs of a user keep small things that can be made again: `hearth/NAME` of XDG_CACHE_HOME,
// else of ~/.cache. Thread-safe; no errors: where there is no place for it, nothing is kept.
//
//   const std::string folder = user_cache_folder("vulkan");
#pragma once
#include <string>
#include <string_view>

namespace hearth {

// Made where it is missing, for its user alone. Empty: no home, or a folder that others may write to. Ignores the
// environment in programs that run with another user's rights.
std::string user_cache_folder(std::string_view name);

}  // namespace hearth
