// hearth onnx check: whether a model is supported, and what it needs to be run, before any work is done: its operators,
// then every use of them by importing it. Symbolic dimensions that are not given are tried with common lengths and with
// ranges (client/onnx/dim_search.h). Exits 1 when the model is not supported.
#include "client/cli/onnx_check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/input_file.h"
#include "client/cli/load_model.h"
#include "client/cli/model_needs.h"
#include "client/cli/print.h"
#include "client/cli/weights_report.h"
#include "client/onnx/dim_search.h"
#include "client/onnx/model_check.h"
#include "client/onnx/model_file.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckFlags {
  std::string path;
  ModelFlags model;
};

struct Checked {
  onnx::ModelCheck operators;
  onnx::DimSearch dims;
  // The same for other values of an input that decides what the model computes, where there are lengths that hold.
  std::vector<onnx::DimSearch> others;
  std::string refused;  // why it cannot be imported although every operator is known
};

std::vector<onnx::DimSearch> other_values(const onnx::ModelFilePtr& model, const onnx::ImportOptions& given,
                                          const onnx::DimSearch& first) {
  std::vector<onnx::DimSearch> others;
  const auto steering = onnx::steering_values(model);
  for (const auto& [name, value] : first.constants) {
    const auto values = steering.find(name);
    if (values == steering.end() || given.constants.count(name) > 0) continue;
    for (const client::Array& other : values->second) {
      if (constant_text(other) == constant_text(value)) continue;
      onnx::ImportOptions options = given;
      options.constants = first.constants;
      options.constants[name] = other;
      absl::StatusOr<onnx::DimSearch> found = onnx::find_dims(model, options);
      if (found.ok()) others.push_back(*std::move(found));
    }
  }
  return others;
}

absl::StatusOr<Checked> check_of(const CheckFlags& flags) {
  if (client::is_plan_file(flags.path)) {
    return refuse_plan_file(flags.path, "check the model that it was exported from");
  }
  HEARTH_ASSIGN_OR_RETURN(const auto model, onnx::read_model(flags.path));
  Checked checked;
  const auto operators = onnx::check_model(model);
  if (!operators.ok()) {
    checked.refused = std::string(operators.status().message());
    return checked;
  }
  checked.operators = *operators;
  if (!checked.operators.missing.empty()) return checked;
  HEARTH_ASSIGN_OR_RETURN(onnx::ImportOptions options, flags.model.import_options());
  onnx::ImportOptions given = std::move(options);
  given.weights = onnx::Weights::kF32;
  absl::StatusOr<onnx::DimSearch> found = onnx::find_dims(model, given);
  if (found.ok()) {
    checked.dims = *std::move(found);
    checked.others = other_values(model, given, checked.dims);
    if (flags.model.weights != onnx::Weights::kF32) {
      HEARTH_ASSIGN_OR_RETURN(const auto imported,
                              onnx::import_model(model, {.dims = checked.dims.lengths,
                                                         .dim_expressions = checked.dims.expressions,
                                                         .constants = checked.dims.constants,
                                                         .weights = flags.model.weights}));
      note_weights(flags.model.weights, imported.weights);
    }
  } else {
    checked.refused = std::string(found.status().message());
  }
  return checked;
}

void print_checked(const CheckFlags& flags, const Checked& checked) {
  for (const onnx::MissingNode& node : checked.operators.missing) {
    const std::string opset = node.opset == 0 ? "" : str_cat(", opset ", node.opset);
    print_line("node '", node.name, "' (operator ", node.op, opset, "): ", node.reason);
  }
  if (!checked.refused.empty()) print_line(checked.refused);
  const std::size_t missing = checked.operators.missing.size();
  print_line(flags.path, ": opset ", checked.operators.opset, ", ", checked.operators.num_nodes, " nodes, ",
             missing > 0               ? str_cat(missing, " not supported")
             : checked.refused.empty() ? "all supported"
                                       : "refused while importing");
  print_needs(checked.dims);
  for (const onnx::DimSearch& other : checked.others) print_needs(other);
}

Json to_json(const CheckFlags& flags, const Checked& checked) {
  Json missing = Json::array(), others = Json::array();
  for (const onnx::MissingNode& node : checked.operators.missing) {
    missing.push_back({{"node", node.name}, {"operator", node.op}, {"reason", node.reason}});
  }
  for (const onnx::DimSearch& other : checked.others)
    others.push_back({{"needed_constants", constants_json(other)}, {"needed_dims", dims_json(other)}});
  return {{"model", flags.path},
          {"opset", checked.operators.opset},
          {"nodes", checked.operators.num_nodes},
          {"missing", std::move(missing)},
          {"refused", checked.refused.empty() ? Json() : Json(checked.refused)},
          {"needed_constants", constants_json(checked.dims)},
          {"needed_dims", dims_json(checked.dims)},
          {"with_other_values", std::move(others)}};
}

absl::StatusOr<int> check(const CheckFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const Checked checked, check_of(flags));
  flags.model.json ? print_json(to_json(flags, checked)) : print_checked(flags, checked);
  return checked.operators.missing.empty() && checked.refused.empty() ? 0 : kFailure;
}

}  // namespace

void add_onnx_check(CLI::App& onnx, Action& action) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = command_line::add_command(
      onnx, "check", "List what a model needs and is not supported",
      {.details =
           "Needs no daemon. Dimensions that are not given are tried with common lengths and with ranges, and what "
           "a run needs to be given is listed.",
       .examples = {{"hearth onnx check model.onnx", "Checks a model before any work is done."},
                    {"hearth onnx check model.onnx --weights int8", "Says what int8 makes of its weights, too."}},
       .exit_statuses = {{1, "The model is not supported, or something else failed."}}});
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  flags->model.add_import_to(*command, /*with_inputs=*/false);
  add_json_to(*command, flags->model.json);
  command->callback([flags, &action] { action = [flags] { return check(*flags); }; });
}

}  // namespace hearth::cli
