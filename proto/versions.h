// Versions of everything that crosses a process boundary. A receiver answers an unknown version with
// FAILED_PRECONDITION naming both versions; it never guesses.
#pragma once
#include <cstdint>

namespace hearth {

inline constexpr std::uint32_t kProtocolVersion = 1;  // compiler_service.proto, admin_service.proto
inline constexpr std::uint32_t kGraphVersion = 1;     // graph.proto
inline constexpr std::uint32_t kPlanVersion = 1;      // plan.proto
// Plans with outputs that are made in the memory of inputs, which runtimes of before would take for another one.
inline constexpr std::uint32_t kInPlacePlanVersion = 2;
// Plans with launches that are run only where a bool in memory says so (and maybe with the above).
inline constexpr std::uint32_t kConditionalPlanVersion = 3;
inline constexpr std::uint32_t kWorkerVersion = 2;    // worker.proto frames
inline constexpr std::uint32_t kPlanFileVersion = 1;  // docs/plan_file.md
inline constexpr std::uint32_t kPackVersion = 1;      // pack.proto
inline constexpr std::uint32_t kWeightsVersion = 1;   // weights.proto

}  // namespace hearth
