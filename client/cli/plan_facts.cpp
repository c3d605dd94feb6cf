#include "client/cli/plan_facts.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/cli/format.h"
#include "proto/launch_runs.h"

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

std::string launches_text(const v1::Plan& plan, std::uint64_t launches) {
  std::string text = str_cat(launches, " launches a replay");
  if (plan.regions_size() == 0) return text;
  const std::vector<std::uint64_t> runs = launch_runs(plan);
  std::uint64_t inside = 0;
  for (const v1::ParallelRegion& region : plan.regions()) {
    for (std::uint64_t l = 0; l < region.num_launches() && region.first_launch() + l < runs.size(); ++l)
      inside += runs[region.first_launch() + l];
  }
  return str_cat(text, ", ", inside, " of them in ", plan.regions_size(),
                 plan.regions_size() == 1 ? " parallel region" : " parallel regions");
}

nlohmann::ordered_json regions_json(const v1::Plan& plan) {
  auto json = nlohmann::ordered_json::array();
  for (const v1::ParallelRegion& region : plan.regions())
    json.push_back({{"first_launch", region.first_launch()}, {"launches", region.num_launches()}});
  return json;
}

std::string target_text(const v1::Target& target) {
  std::string text = target.device();
  if (!target.triple().empty()) str_append(&text, ", ", target.triple());
  if (!target.arch().empty()) str_append(&text, ", ", target.arch());
  if (target.vector_bits() > 0) str_append(&text, ", vectors of ", target.vector_bits(), " bits");
  if (target.has_gpu()) return str_cat(text, ", workgroups of ", target.gpu().workgroup_size(), " invocations");
  if (target.threads() > 0) str_append(&text, ", ", counted(target.threads(), "thread"));
  return text;
}

nlohmann::ordered_json target_json(const v1::Target& target) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  // Only messages of kinds that a record has none of can fail.
  if (!google::protobuf::util::MessageToJsonString(target, &text, options).ok()) return {};
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string value_text(DType dtype, const client::Shape& shape) {
  return str_cat(dtype_name(dtype), client::to_string(shape));
}

}  // namespace hearth::cli
