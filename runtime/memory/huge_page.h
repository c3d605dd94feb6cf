#pragma once
#include <cstddef>

namespace hearth::runtime {

constexpr std::size_t kHugePage = std::size_t{2} << 20;  // bytes, of x86-64 and of AArch64 with pages of 4 KiB

}  // namespace hearth::runtime
