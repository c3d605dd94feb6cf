// What every C++ header of Hearth includes first: which language it needs, and `hearth::` for the names that live in
// hearth::client, so that programs write hearth::Tensor.
#pragma once

#if __cplusplus < 202002L
#error "Hearth's C++ headers need C++20: compile with -std=c++20. hearth/hearth.h is for C and for older C++."
#endif

namespace hearth {
namespace client {}
using namespace client;  // NOLINT: names of the SDK
}  // namespace hearth
