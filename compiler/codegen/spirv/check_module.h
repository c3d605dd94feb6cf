// What SPIRV-Tools, the reference of the format, says about a module. Thread-safe; no state.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::codegen::spirv {

// INTERNAL with the validator's words when the module is not valid for Vulkan 1.3: a bug of the emitter, never the
// user's. `symbol`: the kernel's, for the message. A SPIRV-Tools before 2023.4 judges no cooperative matrices.
absl::Status check_module(std::span<const std::uint32_t> words, const std::string& symbol);

// Its disassembly.
absl::StatusOr<std::string> disassembly(std::span<const std::uint32_t> words);

}  // namespace hearth::codegen::spirv
