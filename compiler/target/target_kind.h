// A kind of target, as CPU or Vulkan: what its records say of what kernels may do, and what is wrong with one. Those of
// the product are in target_kind.cpp; a program adds its own with register_target_kind() before it compiles for one.
// Immutable; thread-safe.
//
//   register_target_kind("toy", kToyKind);   // with codegen::register_generator, schedule::register_scheduler
#pragma once
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "compiler/target/target.h"

namespace hearth::target {

struct TargetKind {
  Capabilities (*capabilities)(const v1::Target& record) = nullptr;
  // Beyond what is checked of every record (check_record.h); null: nothing.
  absl::Status (*check)(const v1::Target& record) = nullptr;
};

// The kind that v1::Target.device names; null where there is none of that name.
const TargetKind* find_target_kind(std::string_view device);

// "cpu, null, cuda, hip, vulkan"
std::string target_kind_names();

// Borrowed, until the process ends.
void register_target_kind(std::string_view device, const TargetKind& kind);

}  // namespace hearth::target
