// Hand-made kernels for GPUs (the GPU ABI of base/kernel_abi.h), from GLSL by glslang. Not thread-safe. Failures
// throw std::runtime_error with glslang's words.
#pragma once
#include <string>
#include <vector>

namespace hearth::testing {

constexpr unsigned kGlslWorkgroup = 64;  // invocations

// SPIR-V of a kernel that runs `statement` for each of its units `i`; `arrays` names its slots, arrays of `type`.
std::string compile_glsl(const std::vector<std::string>& arrays, const std::string& type, const std::string& statement);

}  // namespace hearth::testing
