// Relocatable object -> shared object, by lld in this process. No path, time or id enters the output.
// Serialised inside (lld keeps global state). INTERNAL with lld's message when linking fails.
#pragma once
#include <string>

#include "absl/status/statusor.h"

namespace hearth::codegen {

// `object` holds the bytes of one ELF relocatable file; every global symbol it defines is exported.
// Undefined symbols other than memcpy, memmove and memset are refused by name.
absl::StatusOr<std::string> link_shared(const std::string& object);

}  // namespace hearth::codegen
