// What kind of sectioned file a plan file is (docs/plan_file.md). Inside client/files only.
#pragma once
#include "client/files/sectioned_file.h"
#include "proto/versions.h"

namespace hearth::client {

inline constexpr SectionedFormat kPlanFile{"HEARTHPF", kPlanFileVersion, "plan file", "export the plan again"};

}  // namespace hearth::client
