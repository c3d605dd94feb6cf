// The compiler build id: 64 hexadecimal digits over the compiler's sources, the protos, the kernel ABI and the
// LLVM version (cmake/build_id.cmake). Part of every key; daemon and worker must agree on it.
#pragma once
#include <string_view>

namespace hearth {

std::string_view build_id();

}  // namespace hearth
