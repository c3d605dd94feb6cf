#include "client/cli/plan_facts.h"

#include <nlohmann/json.hpp>

#include "client/cli/format.h"
#include "runtime/text.h"

namespace hearth::cli {

PlanMemory memory_of(const v1::Plan& plan) {
  PlanMemory memory;
  memory.arena = plan.arena_bytes();
  memory.persistent = plan.persistent_bytes();
  for (const v1::PlanBuffer& buffer : plan.buffers()) {
    if (buffer.kind() == v1::PlanBuffer::INPUT) memory.inputs += buffer.max_bytes();
    if (buffer.kind() == v1::PlanBuffer::OUTPUT) memory.outputs += buffer.max_bytes();
    if (buffer.kind() == v1::PlanBuffer::PARAMETER) memory.parameters += buffer.max_bytes();
    if (buffer.kind() == v1::PlanBuffer::CONSTANT) memory.constants += buffer.max_bytes();
  }
  return memory;
}

std::string memory_text(const PlanMemory& memory) {
  std::string text = human_bytes(static_cast<double>(memory.total()));
  const char* separator = ": ";
  const auto add = [&](const char* name, std::uint64_t bytes) {
    if (bytes == 0) return;
    str_append(&text, separator, name, " ", human_bytes(static_cast<double>(bytes)));
    separator = ", ";
  };
  add("arena", memory.arena);
  add("inputs", memory.inputs);
  add("outputs", memory.outputs);
  add("parameters", memory.parameters);
  add("constants", memory.constants);
  add("persistent", memory.persistent);
  return text;
}

nlohmann::ordered_json memory_json(const PlanMemory& memory) {
  return {{"total_bytes", memory.total()},        {"arena_bytes", memory.arena},
          {"input_bytes", memory.inputs},         {"output_bytes", memory.outputs},
          {"parameter_bytes", memory.parameters}, {"constant_bytes", memory.constants},
          {"persistent_bytes", memory.persistent}};
}

std::string target_text(const v1::Target& target) {
  std::string text = target.device();
  if (!target.triple().empty()) str_append(&text, ", ", target.triple());
  if (!target.arch().empty()) str_append(&text, ", ", target.arch());
  if (target.vector_bits() > 0) str_append(&text, ", vectors of ", target.vector_bits(), " bits");
  if (target.threads() > 0) str_append(&text, ", ", target.threads(), " thread(s)");
  return text;
}

std::string value_text(DType dtype, const client::Shape& shape) {
  return str_cat(dtype_name(dtype), client::to_string(shape));
}

}  // namespace hearth::cli
