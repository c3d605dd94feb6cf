// Which GPU archs a HIP compiler can make code for, asked of the compiler in a child process: an unknown arch aborts
// LLVM, and only the compiler knows its spellings ("gfx90a:xnack-").
//
// Answers are remembered for the life of the process. Blocking; thread-safe. Errors: Unimplemented for an arch that the
// compiler does not know, with those it does; NotFound for a program or device library that it lacks, with the package.
//   absl::Status can = arch_supported(toolchain, "gfx942");
#pragma once
#include <absl/status/status.h>

#include <string>
#include <vector>

#include "blobs/tools/toolchain.h"

namespace hearth::blobs {

// "gfx900", "gfx90a", … as `clang --print-supported-cpus` lists them; empty when it cannot say.
std::vector<std::string> known_archs(const std::string& clang);

absl::Status arch_supported(const Toolchain& toolchain, const std::string& arch);

}  // namespace hearth::blobs
