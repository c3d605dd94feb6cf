#include "client/cli/inspect_plan.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/format.h"
#include "client/cli/load_model.h"
#include "client/cli/plan_facts.h"
#include "client/cli/plan_parameters.h"
#include "client/cli/print.h"
#include "client/cli/shell_text.h"
#include "client/files/plan_file_contents.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;
using Kind = v1::PlanBuffer;

struct PlanValue {
  std::string name;
  DType dtype = DType::kF32;
  client::Shape shape;
};

absl::StatusOr<std::vector<PlanValue>> values_of(const v1::Plan& plan, Kind::Kind kind) {
  std::vector<PlanValue> values;
  for (const v1::PlanBuffer& buffer : plan.buffers()) {
    if (buffer.kind() != kind) continue;
    HEARTH_ASSIGN_OR_RETURN(client::Shape shape, shape_of(buffer, plan));
    values.push_back({buffer.name(), static_cast<DType>(buffer.dtype()), std::move(shape)});
  }
  return values;
}

// Why this machine cannot run it; empty when it can.
std::string unsuited(const v1::Target& target) {
  if (!runtime::runs_on_host(target.device())) return "";
  const v1::Target here = runtime::cpu_target(1);
  if (target.triple() != here.triple())
    return str_cat("it is for ", target.triple(), ", this machine is ", here.triple());
  std::vector<std::string> lacking;
  for (const std::string& feature : target.features()) {
    const auto& has = here.features();
    if (std::find(has.begin(), has.end(), feature) == has.end()) lacking.push_back(feature);
  }
  return lacking.empty() ? "" : str_cat("this CPU lacks ", absl::StrJoin(lacking, ", "));
}

// By dtype: how many, and their bytes.
std::string parameters_text(const v1::Plan& plan, const std::vector<std::string>& external) {
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> types;
  std::size_t count = 0;
  for (const v1::PlanBuffer& buffer : plan.buffers()) {
    if (buffer.kind() != Kind::PARAMETER) continue;
    auto& [number, bytes] = types[std::string(dtype_name(static_cast<DType>(buffer.dtype())))];
    ++number, ++count;
    bytes += buffer.max_bytes();
  }
  if (count == 0) return "none";
  std::vector<std::string> parts;
  for (const auto& [name, of_type] : types) {
    parts.push_back(str_cat(of_type.first, " ", name, " ", human_bytes(static_cast<double>(of_type.second))));
  }
  std::string text = str_cat(count, " (", absl::StrJoin(parts, "; "), ")");
  if (!external.empty()) str_append(&text, ", ", external.size(), " of them not in the file");
  return text;
}

void print_values(const char* title, const std::vector<PlanValue>& values) {
  Rows table = {{title, "type", "shape"}};
  for (const PlanValue& value : values) {
    table.push_back({value.name, std::string(dtype_name(value.dtype)), client::to_string(value.shape)});
  }
  print_line();
  print_table(table);
}

Json values_json(const std::vector<PlanValue>& values) {
  Json list = Json::array();
  for (const PlanValue& value : values) {
    Json shape = Json::array();
    for (const client::Dim& dim : value.shape) {
      shape.push_back(dim.is_const() ? Json(dim.value()) : Json(dim.to_string()));
    }
    list.push_back({{"name", value.name}, {"type", std::string(dtype_name(value.dtype))}, {"shape", shape}});
  }
  return list;
}

}  // namespace

absl::StatusOr<int> inspect_plan_file(const std::string& path, bool json) {
  HEARTH_ASSIGN_OR_RETURN(const client::PlanFileContents contents, client::read_plan_file(path));
  const v1::Plan& plan = contents.plan;
  const auto inputs = values_of(plan, Kind::INPUT), outputs = values_of(plan, Kind::OUTPUT);
  HEARTH_RETURN_IF_ERROR(inputs.status());
  HEARTH_RETURN_IF_ERROR(outputs.status());
  const std::vector<std::string> external = external_parameters(contents);
  const std::string obstacle = unsuited(plan.target());
  std::string command = str_cat("hearth run ", shell_path(path));
  if (!external.empty()) command += " --parameters FILE";
  if (json) {
    Json variables = Json::array();
    for (const v1::Variable& v : plan.vars())
      variables.push_back({{"name", v.name()}, {"min", v.min()}, {"max", v.max()}});
    print_json(
        {{"model", path},
         {"format", "hearth plan file"},
         {"bytes", contents.file_bytes},
         {"device", plan.target().device()},
         {"triple", plan.target().triple()},
         {"features", std::vector<std::string>(plan.target().features().begin(), plan.target().features().end())},
         {"threads", contents.manifest.threads()},
         {"variables", std::move(variables)},
         {"inputs", values_json(*inputs)},
         {"outputs", values_json(*outputs)},
         {"missing_parameters", external},
         {"kernels", plan.kernels_size()},
         {"memory", memory_json(memory_of(plan))},
         {"cannot_run", obstacle.empty() ? Json() : Json(obstacle)},
         {"command", external.empty() && obstacle.empty() ? Json(command) : Json()}});
    return 0;
  }
  print_facts({{"model", str_cat(path, ", hearth plan file, ", human_bytes(static_cast<double>(contents.file_bytes)))},
               {"target", target_text(plan.target())},
               {"kernels", str_cat(plan.kernels_size(), ", compiled")},
               {"parameters", parameters_text(plan, external)},
               {"memory", memory_text(memory_of(plan))}});
  print_values("input", *inputs);
  print_values("output", *outputs);
  if (plan.vars_size() > 0) {
    Rows table = {{"variable", "from", "to"}};
    for (const v1::Variable& v : plan.vars()) {
      table.push_back({v.name(), std::to_string(v.min()), std::to_string(v.max())});
    }
    print_line();
    print_table(table);
  }
  print_line();
  if (!obstacle.empty()) {
    print_line("cannot be run here: ", obstacle);
    return 0;
  }
  for (const v1::Variable& v : plan.vars()) {
    print_line("takes --var ", v.name(), "=N, else the length of the arrays given, else ", v.max());
  }
  if (!external.empty()) print_line("needs --parameters: safetensors, or the ONNX model it was exported from");
  print_line("run it: ", command);
  return 0;
}

}  // namespace hearth::cli
