// PlanCorruption: one thing wrong with a plan, and what the reader says about it.
#pragma once
#include <catch2/catch.hpp>
#include <functional>
#include <span>

#include "runtime/plan/plan.h"

namespace hearth::testing {

struct PlanCorruption {
  const char* expected;
  std::function<void(v1::Plan&)> apply;
};

// `sound` is read; with any of the corruptions it is refused, in the words expected.
inline void check_refused(const v1::Plan& sound, std::span<const PlanCorruption> corruptions) {
  REQUIRE(runtime::parse_plan(sound.SerializeAsString()).ok());
  for (const PlanCorruption& corruption : corruptions) {
    v1::Plan wire = sound;
    corruption.apply(wire);
    const absl::Status status = runtime::parse_plan(wire.SerializeAsString()).status();
    INFO("expected: " << corruption.expected);
    CHECK_FALSE(status.ok());
    CHECK_THAT(std::string(status.message()), Catch::Contains(corruption.expected));
  }
}

}  // namespace hearth::testing
