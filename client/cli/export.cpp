// hearth export: prepare a model and write its plan, kernels and weights to one file that runs without a daemon.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/terminal.h"
#include "command_line/command.h"
#include "hearth/plan_file.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExportFlags {
  ModelFlags model;
  std::string path;
  std::string output;
  bool parameters = true;
};

// Whether a path leads to where this process prints, as /dev/stdout does.
bool is_standard_output(const std::string& path) {
  struct stat there{}, printed{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(STDOUT_FILENO, &printed) == 0 && there.st_dev == printed.st_dev &&
         there.st_ino == printed.st_ino;
}

absl::StatusOr<int> export_model(const ExportFlags& flags) {
  if (client::is_plan_file(flags.path)) {
    return refuse_plan_file(flags.path, "copy it, or export the model that it was made of again");
  }
  const std::string output = flags.output == "-" ? "/proc/self/fd/1" : flags.output;
  const bool to_stdout = is_standard_output(output);
  if (to_stdout && flags.model.json) {
    return usage_error("--output ", flags.output, " and --json both take standard output");
  }
  if (to_stdout && terminal_columns(STDOUT_FILENO) > 0) {
    return usage_error("--output ", flags.output, ": a plan file is not for a terminal; send it to a file or a pipe");
  }
  const auto safe = [&](Model& model) { return model.files.writes(output, str_cat("--output ", flags.output)); };
  absl::StatusOr<PreparedModel> prepared = prepare_model(flags.path, flags.model, safe);
  if (!prepared.ok()) return prepared.status();
  const client::PreparedPlan* plan = &prepared->plan;
  if (absl::Status saved = plan->export_to(output, {.parameters = flags.parameters}); !saved.ok()) return saved;
  if (to_stdout) return 0;
  std::error_code unknown;  // of what was written into a pipe or a device
  const auto bytes = std::filesystem::file_size(flags.output, unknown);
  if (flags.model.json) {
    print_json({{"file", flags.output},
                {"bytes", unknown ? Json() : Json(bytes)},
                {"kernels", plan->stats().kernels},
                {"parameters", flags.parameters}});
  } else {
    print_summary(flags.output, ": ", unknown ? "" : human_bytes(static_cast<double>(bytes)) + ", ",
                  counted(plan->stats().kernels, "kernel"), flags.parameters ? "" : ", no parameters");
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
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  command->add_option("-o,--output", flags->output, "Plan file to write; - is standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("!--no-parameters", flags->parameters, "Leave the weights out; hearth run --parameters gives them");
  flags->model.add_to(*command, /*with_inputs=*/false);
  flags->model.add_carry_to(*command);
  command->callback([flags, &action] { action = [flags] { return export_model(*flags); }; });
}

}  // namespace hearth::cli
