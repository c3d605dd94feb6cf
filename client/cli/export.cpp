// hearth export: prepare a model and write its plan, kernels and weights to one file that runs without a daemon.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/format.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

struct ExportFlags {
  ModelFlags model;
  std::string path;
  std::string output;
  bool parameters = true;
};

absl::StatusOr<int> export_model(const ExportFlags& flags) {
  if (client::is_plan_file(flags.path)) {
    return refuse_plan_file(flags.path, "copy it, or export the model that it was made of again");
  }
  absl::StatusOr<PreparedModel> prepared = prepare_model(flags.path, flags.model);
  if (!prepared.ok()) return prepared.status();
  const client::PreparedPlan* plan = &prepared->plan;
  if (absl::Status saved = plan->export_to(flags.output, {.parameters = flags.parameters}); !saved.ok()) return saved;
  const auto bytes = std::filesystem::file_size(flags.output);
  if (flags.model.json) {
    print_json({{"file", flags.output},
                {"bytes", bytes},
                {"kernels", plan->stats().kernels},
                {"parameters", flags.parameters}});
  } else {
    print_summary(flags.output, ": ", human_bytes(static_cast<double>(bytes)), ", ", plan->stats().kernels, " kernels",
                  flags.parameters ? "" : ", no parameters");
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = command_line::add_command(
      app, "export", "Write a model's plan to a file that runs without a daemon",
      {.details = "The file holds the plan, its compiled kernels and its weights. It runs on machines whose CPU has "
                  "the features of this one.",
       .examples = {{"hearth export model.onnx -o model.hearth", "Writes a plan, for hearth run model.hearth."}}});
  command->add_option("model", flags->path, "ONNX file; - is standard input")->type_name("FILE")->required();
  command->add_option("-o,--output", flags->output, "Plan file to write; - is standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("!--no-parameters", flags->parameters, "Leave the weights out; hearth run --parameters gives them");
  flags->model.add_to(*command, /*with_inputs=*/false);
  command->callback([flags, &action] { action = [flags] { return export_model(*flags); }; });
}

}  // namespace hearth::cli
