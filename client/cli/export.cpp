// hearth export: prepare a model and write its plan, kernels and weights to one file that runs without a daemon.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/status_line.h"
#include "client/cli/target_flag.h"
#include "client/cli/terminal.h"
#include "client/jit/prepare_encoded.h"
#include "command_line/command.h"
#include "hearth/plan_file.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExportFlags {
  ModelFlags model;
  std::string path;
  std::string output;
  std::string target;
  bool parameters = true;
  std::string signing_key;
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
  client::ExportConfig what{.parameters = flags.parameters, .signing_key = flags.signing_key};
  std::uint32_t kernels = 0;
  if (flags.target.empty()) {
    HEARTH_ASSIGN_OR_RETURN(PreparedModel prepared, prepare_model(flags.path, flags.model, safe));
    what.call = onnx::call_signature(prepared.model.imported);
    HEARTH_RETURN_IF_ERROR(prepared.plan.export_to(output, what));
    kernels = prepared.plan.stats().kernels;
  } else {
    HEARTH_ASSIGN_OR_RETURN(client::PrepareConfig config, flags.model.prepare_config());
    HEARTH_ASSIGN_OR_RETURN(const v1::Target target, target_of(flags.target, config));
    const runtime::Driver* const driver = runtime::find_driver(target.device());
    if (driver != nullptr && !driver->has_code())
      return usage_error("--target ", flags.target, ": it has no kernels to run");
    HEARTH_ASSIGN_OR_RETURN(Model model, load_model(flags.path, flags.model));
    HEARTH_RETURN_IF_ERROR(safe(model));
    config.fixed_inputs = model.imported.fixed_inputs;
    what.call = onnx::call_signature(model.imported);
    StatusLine line(/*wanted=*/!flags.model.json);
    line.show({.title = flags.path, .state = "compiling what is not cached"});
    HEARTH_ASSIGN_OR_RETURN(const client::PrepareStats exported,
                            client::export_plan(model.traced, target, config, output, what));
    kernels = exported.kernels;
  }
  if (to_stdout) return 0;
  std::error_code unknown;  // of what was written into a pipe or a device
  const auto bytes = std::filesystem::file_size(flags.output, unknown);
  if (flags.model.json) {
    print_json({{"file", flags.output},
                {"bytes", unknown ? Json() : Json(bytes)},
                {"kernels", kernels},
                {"parameters", flags.parameters}});
  } else {
    print_summary(flags.output, ": ", unknown ? "" : human_bytes(static_cast<double>(bytes)) + ", ",
                  counted(kernels, "kernel"), flags.parameters ? "" : ", no parameters");
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = command_line::add_command(
      app, "export", "Write a model's plan to a file that runs without a daemon",
      {.details = "The file holds the plan, its compiled kernels and its weights. It runs on machines whose CPU has "
                  "the features of this one, or those of --target.",
       .examples = {{"hearth export model.onnx -o model.hearth", "Writes a plan, for hearth run model.hearth."},
                    {"hearth export model.onnx --target cpu:x86-64-v3 -o v3.hearth",
                     "Writes one for processors with AVX2, whatever this one is."}}});
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  command->add_option("-o,--output", flags->output, "Plan file to write; - is standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("!--no-parameters", flags->parameters, "Leave the weights out; hearth run --parameters gives them");
  command
      ->add_option("--sign", flags->signing_key,
                   "Sign the file with this key of hearth remote keygen; who sets HEARTH_TRUSTED_KEYS loads no other")
      ->type_name("KEYFILE")
      ->check(not_empty());
  flags->model.add_to(*command, /*with_inputs=*/false);
  flags->model.add_carry_to(*command);
  add_target_to(*command, flags->target);
  command->callback([flags, &action] { action = [flags] { return export_model(*flags); }; });
}

}  // namespace hearth::cli
