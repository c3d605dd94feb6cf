// hearth inspect: what a model or a plan file is, what it takes and gives, and a command that runs it. Compiles nothing
// and asks no daemon.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/inspect_plan.h"
#include "client/cli/load_model.h"
#include "client/cli/manifest.h"
#include "client/cli/model_needs.h"
#include "client/cli/print.h"
#include "client/cli/shell_text.h"
#include "client/onnx/dim_search.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "command_line/command.h"
#include "hearth/plan_file.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectFlags {
  std::string path;
  bool json = false;
  bool manifest = false;
};

// A model, and with which lengths it can be run.
struct Inspected {
  std::string path;
  onnx::ModelSummary summary;
  absl::StatusOr<onnx::DimSearch> dims = absl::UnknownError("");  // why it cannot be run
};

std::string declared_shape(const onnx::SummaryValue& value) {
  if (!value.has_shape) return "[?]";
  std::vector<std::string> lengths;
  for (const onnx::SummaryDim& dim : value.shape) {
    lengths.push_back(dim.length >= 0 ? std::to_string(dim.length) : dim.name);
  }
  return str_cat("[", absl::StrJoin(lengths, ", "), "]");
}

std::vector<const onnx::SummaryValue*> sequences(const onnx::ModelSummary& summary) {
  std::vector<const onnx::SummaryValue*> found;
  for (const onnx::SummaryValue& input : summary.inputs) {
    if (input.is_sequence && !input.has_default) found.push_back(&input);
  }
  return found;
}

std::vector<std::string> unsupported(const onnx::ModelSummary& summary) {
  std::vector<std::string> names;
  for (const onnx::SummaryOperator& op : summary.operators) {
    if (!op.missing.empty()) names.push_back(op.name);
  }
  return names;
}

// Empty when no command can run the model.
std::string suggestion(const Inspected& model) {
  if (!model.dims.ok()) return "";
  std::string command = str_cat("hearth run ", is_kept_stream(model.path) ? "-" : shell_path(model.path));
  for (const std::string& name : model.dims->open) {
    str_append(&command, " --dim ", shell_word(str_cat(name, "=", model.dims->lengths.at(name).min)));
  }
  for (const auto& [name, text] : model.dims->expressions) {
    str_append(&command, " --dim ", shell_word(str_cat(name, "=", text)));
  }
  for (const auto& [name, value] : model.dims->constants) {
    str_append(&command, " --const ", shell_word(str_cat(name, "=", constant_text(value))));
  }
  return command;
}

// Why there is no suggestion.
std::string obstacle(const Inspected& model) {
  if (!model.summary.refused.empty()) return model.summary.refused;
  if (const auto missing = unsupported(model.summary); !missing.empty()) {
    return str_cat("operators that are not supported: ", absl::StrJoin(missing, ", "));
  }
  if (const auto inputs = sequences(model.summary); !inputs.empty()) {
    return str_cat("input '", inputs[0]->name, "' is a sequence, which only hearth/onnx.h takes (sequence_lengths)");
  }
  return std::string(model.dims.status().message());
}

std::string opsets_text(const onnx::ModelSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [domain, version] : summary.opsets) {
    parts.push_back(domain.empty() ? str_cat(version) : str_cat(domain, " ", version));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

std::string parameters_text(const onnx::ModelSummary& summary) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> parts;
  for (const auto& [type, of_type] : summary.parameters) {
    count += of_type.count;
    bytes += of_type.bytes;
    parts.push_back(str_cat(of_type.count, " ", type, " ", human_bytes(static_cast<double>(of_type.bytes))));
  }
  const onnx::SummaryParameters& constants = summary.constants;
  const std::string in_nodes = constants.count == 0 ? ""
                                                    : str_cat(constants.count, " in Constant nodes, ",
                                                              human_bytes(static_cast<double>(constants.bytes)));
  if (count == 0) return in_nodes.empty() ? "none" : in_nodes;
  std::string text =
      str_cat(count, ", ", human_bytes(static_cast<double>(bytes)), " (", absl::StrJoin(parts, "; "), ")");
  if (!in_nodes.empty()) str_append(&text, "; ", in_nodes);
  for (const auto& [file, external] : summary.external_files) {
    str_append(&text, "; ", human_bytes(static_cast<double>(external)), " of tensors in file ", file);
  }
  return text;
}

void print_inputs(const std::vector<onnx::SummaryValue>& inputs) {
  Rows table = {{"input", "type", "shape", "given"}};
  for (const onnx::SummaryValue& input : inputs) {
    table.push_back(
        {input.name, input.type, declared_shape(input), input.has_default ? "never: has a default" : "needed"});
  }
  print_line();
  print_table(table);
}

void print_outputs(const std::vector<onnx::SummaryValue>& outputs) {
  Rows table = {{"output", "type", "shape"}};
  for (const onnx::SummaryValue& output : outputs) table.push_back({output.name, output.type, declared_shape(output)});
  print_line();
  print_table(table);
}

void print_text(const Inspected& model) {
  const onnx::ModelSummary& summary = model.summary;
  Rows facts = {{"model", str_cat(model.path, ", ONNX (IR version ", summary.ir_version, ")")}};
  if (!summary.producer.empty()) facts.push_back({"producer", summary.producer});
  if (!summary.graph_name.empty()) facts.push_back({"graph", summary.graph_name});
  facts.push_back({"opset", opsets_text(summary)});
  facts.push_back({"parameters", parameters_text(summary)});
  facts.push_back({"nodes", str_cat(summary.num_nodes, " of ", summary.operators.size(), " operators")});
  print_facts(facts);
  print_inputs(summary.inputs);
  print_outputs(summary.outputs);
  Rows operators = {{"operator", "nodes", "supported"}};
  for (const onnx::SummaryOperator& op : summary.operators) {
    operators.push_back({op.name, std::to_string(op.count), op.missing.empty() ? "yes" : "no: " + op.missing});
  }
  std::stable_sort(operators.begin() + 1, operators.end(),
                   [](const auto& a, const auto& b) { return std::stoul(a[1]) > std::stoul(b[1]); });
  print_line();
  print_table(operators);
  print_line();
  const std::string command = suggestion(model);
  if (command.empty()) {
    print_line("cannot be run: ", obstacle(model));
    return;
  }
  print_needs(*model.dims);
  print_line("run it: ", command);
}

Json values_json(const std::vector<onnx::SummaryValue>& values) {
  Json list = Json::array();
  for (const onnx::SummaryValue& value : values) {
    Json shape = Json::array();
    for (const onnx::SummaryDim& dim : value.shape)
      shape.push_back(dim.length >= 0 ? Json(dim.length) : Json(dim.name));
    list.push_back({{"name", value.name},
                    {"type", value.type},
                    {"shape", value.has_shape ? shape : Json()},
                    {"has_default", value.has_default}});
  }
  return list;
}

Json to_json(const Inspected& model) {
  const onnx::ModelSummary& summary = model.summary;
  Json parameters = Json::array(), operators = Json::array(), dims = Json::array();
  for (const auto& [type, of_type] : summary.parameters) {
    parameters.push_back({{"type", type}, {"count", of_type.count}, {"bytes", of_type.bytes}});
  }
  for (const onnx::SummaryOperator& op : summary.operators) {
    operators.push_back({{"operator", op.name},
                         {"nodes", op.count},
                         {"supported", op.missing.empty()},
                         {"reason", op.missing.empty() ? Json() : Json(op.missing)}});
  }
  for (const std::string& dim : summary.symbolic_dims) {
    const bool known = model.dims.ok();
    const bool ranged = known && std::count(model.dims->ranged.begin(), model.dims->ranged.end(), dim) > 0;
    dims.push_back({{"name", dim}, {"may_be_range", known ? Json(ranged) : Json()}});
  }
  const std::string command = suggestion(model);
  return {{"model", model.path},
          {"format", "onnx"},
          {"ir_version", summary.ir_version},
          {"producer", summary.producer},
          {"model_version", summary.model_version},
          {"graph", summary.graph_name},
          {"opsets", summary.opsets},
          {"inputs", values_json(summary.inputs)},
          {"outputs", values_json(summary.outputs)},
          {"needed_dims", std::move(dims)},
          {"needed_constants", model.dims.ok() ? constants_json(*model.dims) : Json::array()},
          {"parameters", std::move(parameters)},
          {"constant_nodes", {{"count", summary.constants.count}, {"bytes", summary.constants.bytes}}},
          {"external_files", summary.external_files},
          {"nodes", summary.num_nodes},
          {"operators", std::move(operators)},
          {"cannot_run", command.empty() ? Json(obstacle(model)) : Json()},
          {"command", command.empty() ? Json() : Json(command)}};
}

// With lengths that may stay open as they are usual, the others with one that holds.
absl::StatusOr<int> print_manifest(const Inspected& model) {
  HEARTH_RETURN_IF_ERROR(model.dims.status());
  ManifestEntry entry;
  entry.path = model.path;
  const onnx::DimSearch& dims = *model.dims;
  for (const std::string& name : dims.open) {
    const auto range = dims.together.find(name);
    entry.flags.dims.push_back(range == dims.together.end()
                                   ? str_cat(name, "=", dims.lengths.at(name).min)
                                   : str_cat(name, "=", range->second.min, ":", range->second.max));
  }
  for (const auto& [name, text] : dims.expressions) entry.flags.dims.push_back(str_cat(name, "=", text));
  for (const auto& [name, value] : dims.constants)
    entry.flags.consts.push_back(str_cat(name, "=", constant_text(value)));
  for (const auto& [output, input] : dims.carried) entry.flags.carried.push_back(str_cat(output, "=", input));
  const std::vector<std::string> lines = absl::StrSplit(manifest_text(entry), '\n');
  for (const std::string& line : lines) print_line(line);
  return 0;
}

absl::StatusOr<int> inspect(const InspectFlags& flags) {
  if (flags.manifest && client::is_plan_file(flags.path))
    return refuse_plan_file(flags.path, "a manifest is of models");
  if (client::is_plan_file(flags.path)) return inspect_plan_file(flags.path, flags.json);
  HEARTH_ASSIGN_OR_RETURN(const auto file, onnx::read_model(flags.path));
  Inspected model;
  model.path = flags.path;
  model.summary = onnx::summarize(file);
  model.dims = onnx::find_dims(file);
  if (flags.manifest) return print_manifest(model);
  flags.json ? print_json(to_json(model)) : print_text(model);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = command_line::add_command(
      app, "inspect", "Show what a model takes, gives and needs, and a command that runs it",
      {.details = "Needs no daemon and compiles nothing. Lengths of symbolic dimensions in the command are some with "
                  "which the model can be imported, not those that its makers had in mind.",
       .examples = {{"hearth inspect model.onnx", "Shows inputs, outputs, dimensions, parameters and operators."},
                    {"for m in *.onnx; do hearth inspect --manifest $m; done > models.toml",
                     "Writes a first manifest of a folder's models."},
                    {"hearth inspect model.hearth", "Shows what a plan file holds."}}});
  add_input_file(*command, "model", flags->path, "ONNX file, or plan file of hearth export")->required();
  add_json_to(*command, flags->json);
  command
      ->add_flag("--manifest", flags->manifest,
                 "Print the model's entry of a manifest, for hearth prewarm --manifest, with lengths that hold")
      ->excludes("--json");
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}

}  // namespace hearth::cli
