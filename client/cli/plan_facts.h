// What a plan needs and is for, as people read it: its memory by kind, its target, its inputs, outputs and variables.
// Pure functions.
//
//   PlanMemory memory = memory_of(plan);
//   print_facts({{"memory", memory_text(memory)}});
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hearth/tensor.h"
#include "hearth/v1/plan.pb.h"

namespace hearth::cli {

// Bytes at the variables' upper bounds. Parameters, constants and persistent results are held once a process, the rest
// by every instance.
struct PlanMemory {
  std::uint64_t arena = 0, inputs = 0, outputs = 0, parameters = 0, constants = 0, persistent = 0;
  std::uint64_t total() const { return arena + inputs + outputs + parameters + constants + persistent; }
};

PlanMemory memory_of(const v1::Plan& plan);
std::string memory_text(const PlanMemory& memory);
nlohmann::ordered_json memory_json(const PlanMemory& memory);

// "103 launches a replay, 98 of them in 4 parallel regions"
std::string launches_text(const v1::Plan& plan, std::uint64_t launches);
nlohmann::ordered_json regions_json(const v1::Plan& plan);

std::string target_text(const v1::Target& target);
// Its record, as --target RECORD.json takes it.
nlohmann::ordered_json target_json(const v1::Target& target);
// "f32[batch, 80]"
std::string value_text(DType dtype, const client::Shape& shape);

}  // namespace hearth::cli
