// What numbers of a target's record and of compile options may say at most: beyond what any machine has. Who reads them
// from a client checks them by these (compiler/target/check_record.h); who asks a user for them, too.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr int kMaxTargetThreads = 4'096;
inline constexpr std::uint64_t kMaxTargetL2Bytes = 1ull << 32;  // of one core
inline constexpr std::uint32_t kMaxTargetForkWork = 1'000'000'000;
inline constexpr std::uint32_t kMaxTargetSharedBytes = 16u << 20;  // of a workgroup
inline constexpr std::uint32_t kMaxTargetWantedInvocations = 1u << 24;
inline constexpr std::size_t kMaxTargetTextBytes = 256;  // of a triple, an arch, a feature
inline constexpr std::uint32_t kMaxOptLevel = 2;

}  // namespace hearth
