// hearth emit: the final code of a model's kernels as files, for any target, whatever this machine is.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/sha256.h"
#include "base/status_macros.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/emitted_plan.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/status_line.h"
#include "client/cli/target_flag.h"
#include "client/jit/request.h"
#include "command_line/command.h"
#include "runtime/devices/devices.h"
#include "runtime/plan/plan.h"

namespace hearth::cli {
namespace {

struct EmitFlags {
  ModelFlags model;
  std::string path, target, output_dir;
};

// From when it is prepared until its code was read, the daemon keeps it.
class Lease {
 public:
  Lease(Channel channel, std::uint64_t id) : channel_(std::move(channel)), id_(id) {}
  ~Lease() { channel_->release_lease(id_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  Channel channel_;
  std::uint64_t id_;
};

absl::StatusOr<std::string> fetch_code(client::DaemonChannel& channel, const v1::PlanKernel& kernel,
                                       client::DaemonChannel::Deadline deadline) {
  absl::StatusOr<std::string> code = channel.fetch_artifact(kernel.artifact(), deadline);
  HEARTH_RETURN_IF_ERROR(code.status());
  if (to_hex(sha256(*code)) != to_hex(kernel.artifact()))
    return absl::DataLossError(str_cat("kernel '", kernel.symbol(), "': the daemon sent other code than the plan's"));
  return code;
}

// For a device whose kernels have no artifacts: what the code generator says of them.
absl::StatusOr<std::vector<std::string>> texts_of(const Model& model, const client::PrepareConfig& config,
                                                  const v1::Target& target) {
  HEARTH_ASSIGN_OR_RETURN(const v1::ExplainResponse reply,
                          explain_model(model, config, {.target = target, .dump = true, .kernels = {}}));
  std::vector<std::string> texts;
  for (const v1::ExplainedKernel& kernel : reply.kernels()) {
    std::string& text = texts.emplace_back();
    for (const v1::PassReport& pass : kernel.passes()) {
      if (pass.name() == "codegen") text = pass.text();
    }
  }
  return texts;
}

absl::StatusOr<EmittedPlan> emitted_plan(const EmitFlags& flags, const Model& model,
                                         const client::PrepareConfig& config, const v1::Target& target) {
  const auto deadline = std::chrono::steady_clock::now() + config.deadline;
  HEARTH_ASSIGN_OR_RETURN(const Channel channel, any_daemon(config.socket));
  HEARTH_ASSIGN_OR_RETURN(
      const v1::PrepareResult result,
      channel->prepare(client::request_for<v1::PrepareRequest>(model.traced, config, target), deadline));
  const Lease lease(channel, result.lease_id());
  EmittedPlan emitted{.model = flags.path, .plan = {}, .codes = {}};
  HEARTH_RETURN_IF_ERROR(runtime::parse_plan(result.plan()).status());
  if (!emitted.plan.ParseFromString(result.plan())) return absl::DataLossError("the daemon sent no plan");
  const auto num_kernels = static_cast<std::size_t>(emitted.plan.kernels_size());
  const runtime::Driver* const driver = runtime::find_driver(target.device());
  if (driver != nullptr && !driver->has_code()) {
    HEARTH_ASSIGN_OR_RETURN(std::vector<std::string> texts, texts_of(model, config, target));
    emitted.codes = std::move(texts);
    if (emitted.codes.size() != num_kernels) return absl::InternalError("the plan and its explanation differ");
    return emitted;
  }
  for (const v1::PlanKernel& kernel : emitted.plan.kernels()) {
    HEARTH_ASSIGN_OR_RETURN(std::string code, fetch_code(*channel, kernel, deadline));
    emitted.codes.push_back(std::move(code));
  }
  return emitted;
}

absl::StatusOr<int> emit(const EmitFlags& flags) {
  if (client::is_plan_file(flags.path)) return refuse_plan_file(flags.path, "give the model that it was exported from");
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.model.prepare_config());
  HEARTH_ASSIGN_OR_RETURN(const v1::Target target, target_of(flags.target, config));
  HEARTH_RETURN_IF_ERROR(check_output_dir(flags.output_dir));
  HEARTH_ASSIGN_OR_RETURN(const Model model, load_model(flags.path, flags.model));
  absl::StatusOr<EmittedPlan> emitted = absl::UnknownError("");
  {
    StatusLine line(/*wanted=*/!flags.model.json);
    line.show({.title = flags.path, .state = "compiling what is not cached"});
    emitted = emitted_plan(flags, model, config, target);
  }
  HEARTH_RETURN_IF_ERROR(emitted.status());
  HEARTH_RETURN_IF_ERROR(write_emitted(*emitted, flags.output_dir));
  const std::size_t bytes = std::accumulate(emitted->codes.begin(), emitted->codes.end(), std::size_t{0},
                                            [](std::size_t sum, const std::string& code) { return sum + code.size(); });
  if (flags.model.json) {
    print_json({{"output_dir", flags.output_dir}, {"kernels", emitted->codes.size()}, {"bytes", bytes}});
  } else {
    print_summary(flags.output_dir, ": ", counted(emitted->codes.size(), "kernel"), ", ",
                  human_bytes(static_cast<double>(bytes)), ", and manifest.json");
  }
  return 0;
}

}  // namespace

void add_emit(CLI::App& app, Action& action) {
  auto flags = std::make_shared<EmitFlags>();
  CLI::App* command = command_line::add_command(
      app, "emit", "Write the final code of a model's kernels, for any target",
      {.details =
           "Each kernel is a file: a shared object for CPUs, a SPIR-V module for Vulkan, the linear kernel as text "
           "for null. manifest.json says for each kernel its entry point and workgroup, and for the model its "
           "variables, buffers and launches in their order. This machine need not have the device.",
       .examples = {{"hearth emit model.onnx --target vulkan:lavapipe --output-dir out",
                     "Writes a SPIR-V module for each kernel, and a manifest."},
                    {"hearth emit model.onnx --target gpu.json --output-dir out",
                     "Writes code for the device that the record in gpu.json describes."}}});
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  flags->model.add_to(*command, /*with_inputs=*/false);
  add_target_to(*command, flags->target);
  command->add_option("--output-dir", flags->output_dir, "Folder to write to, a new one or one without files")
      ->type_name("DIR")
      ->required()
      ->check(not_empty());
  command->callback([flags, &action] { action = [flags] { return emit(*flags); }; });
}

}  // namespace hearth::cli
