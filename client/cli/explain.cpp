// hearth explain: how a model is compiled, what its kernels do and, on request, how long they take. What has to be
// compiled for that is kept, as for any other command.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/explain_plan.h"
#include "client/cli/explain_report.h"
#include "client/cli/input_file.h"
#include "client/cli/packs.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/remote_text.h"
#include "client/cli/replay_inputs.h"
#include "client/cli/status_line.h"
#include "client/cli/subnormal_note.h"
#include "client/cli/target_flag.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

constexpr int kNotCached = 3;  // exit status of --why-miss

struct ExplainFlags {
  ModelFlags model;
  std::string path;
  std::string target;
  std::string kernel;
  std::string show;
  std::vector<std::string> vars;
  std::uint64_t seed = 0;
  bool dump = false;
  bool measure = false;
  bool why_miss = false;
  std::string by;
};

GroupBy group_by(const std::string& name) {
  if (name == "operator") return GroupBy::kOperator;
  return name == "node" ? GroupBy::kNode : GroupBy::kNothing;
}

// Replays the plan with what the flags give as inputs.
absl::StatusOr<KernelProfile> measure(const ExplainFlags& flags, Model& model, const client::PrepareConfig& config,
                                      const std::vector<KernelRow>& rows) {
  HEARTH_ASSIGN_OR_RETURN(const client::PreparedPlan plan, prepare_plan(flags.path, model, config, !flags.model.json));
  HEARTH_ASSIGN_OR_RETURN(client::Instance instance, plan.instantiate());
  HEARTH_RETURN_IF_ERROR(set_variables(instance, plan, model, flags.vars));
  HEARTH_ASSIGN_OR_RETURN(const auto random, fill_inputs(instance, plan, model, flags.seed));
  note_random_inputs(random, flags.seed);
  HEARTH_ASSIGN_OR_RETURN(KernelTimes times, measure_kernels(instance, plan, /*least_replays=*/5));
  KernelProfile profile{rows, std::move(times), speed_of(plan)};
  add_times(profile.times, &profile.rows);
  return profile;
}

// Where else the plan could come from: the cache beyond the node, whose state is for the daemon's operator, and a pack.
struct Elsewhere {
  v1::StatsResponse stats;
  std::string pack;  // that had it; empty: none that is known
};

Elsewhere elsewhere(const std::string& socket, const std::string& plan_key) {
  Elsewhere found;
  if (const absl::StatusOr<Channel> channel = running_daemon(socket); channel.ok()) {
    if (absl::StatusOr<v1::StatsResponse> stats = (*channel)->stats(kStatusTimeout); stats.ok())
      found.stats = *std::move(stats);
  }
  const std::map<std::string, v1::ImportedPack> packs = packs_of_plans(socket);
  if (const auto pack = packs.find(plan_key); pack != packs.end()) found.pack = pack->second.name();
  return found;
}

// What the cache has of the model and what not, and why; compiles nothing.
absl::StatusOr<int> explain_miss(const ExplainFlags& flags, const Model& model, const client::PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(const v1::Target target, target_of(flags.target, config));
  ExplainWish wish;
  wish.target = target;
  wish.only_key = true;
  HEARTH_ASSIGN_OR_RETURN(const v1::ExplainResponse reply, explain_model(model, config, wish));
  const Elsewhere other = reply.plan_cached() ? Elsewhere() : elsewhere(flags.model.socket, reply.plan_key());
  if (flags.model.json) {
    nlohmann::ordered_json json = miss_json(flags.path, reply);
    if (other.stats.has_remote()) json["remote"] = remote_json(other.stats);
    if (!other.pack.empty()) json["pack"] = other.pack;
    print_json(json);
  } else {
    print_miss(flags.path, reply);
    if (!other.pack.empty()) print_line("the pack ", other.pack, " had it: import it again (hearth cache import)");
    if (other.stats.has_remote()) print_line("a prepare asks the remote cache for it: ", remote_text(other.stats));
  }
  return reply.plan_cached() ? 0 : kNotCached;
}

absl::StatusOr<int> explain(const ExplainFlags& flags) {
  if (!flags.show.empty() && flags.kernel.empty()) {
    return usage_error("--show ", flags.show, " needs a kernel: --kernel N or --kernel NAME");
  }
  if (client::is_plan_file(flags.path)) {
    if (!flags.kernel.empty() || flags.measure || flags.dump) {
      return refuse_plan_file(
          flags.path, "--kernel, --dump and --measure explain a model; `hearth run --profile` measures a plan file");
    }
    return explain_plan_file(flags.path, flags.model.json);
  }
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.model.prepare_config());
  HEARTH_ASSIGN_OR_RETURN(Model model, load_model(flags.path, flags.model));
  if (flags.why_miss) return explain_miss(flags, model, config);
  ExplainWish wish;
  HEARTH_ASSIGN_OR_RETURN(const v1::Target target, target_of(flags.target, config));
  wish.target = target;
  wish.dump = flags.dump;
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, variable_values(model, flags.vars));
  wish.values = values;
  if (!flags.kernel.empty()) wish.kernels = {flags.kernel};
  absl::StatusOr<v1::ExplainResponse> reply = absl::UnknownError("");
  {
    StatusLine line(/*wanted=*/!flags.model.json);
    line.show({.title = flags.path, .state = "compiling what is not cached"});
    reply = explain_model(model, config, wish);
  }
  HEARTH_RETURN_IF_ERROR(reply.status());
  ExplainReport report{flags.path,        *std::move(reply), {}, std::nullopt, flags.dump,
                       std::move(values), group_by(flags.by)};
  report.rows = kernel_rows(report.reply, report.values);
  if (!target.has_gpu()) {
    HEARTH_ASSIGN_OR_RETURN(const std::string subnormals, subnormal_note(model.traced, config));
    if (!subnormals.empty()) report.reply.add_notes(subnormals);
  }
  if (flags.measure) {
    HEARTH_ASSIGN_OR_RETURN(KernelProfile profile, measure(flags, model, config, report.rows));
    report.profile = std::move(profile);
    report.rows = report.profile->rows;
  }
  if (flags.model.json) {
    print_json(report_json(report));
  } else if (!flags.kernel.empty()) {
    HEARTH_RETURN_IF_ERROR(print_kernel(report, flags.kernel, flags.show));
  } else {
    print_report(report);
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = command_line::add_command(
      app, "explain", "Show how a model is compiled: memory, kernels, their work, passes",
      {.details = "What is not in the cache is compiled and kept. Work is counted at the values that --var gives "
                  "variables, or "
                  "--input by its lengths, else at their upper bounds: FLOP are operations on elements, a multiply-add "
                  "counts two, and conversions, comparisons and selections "
                  "none; bytes are the elements of its buffers that a kernel touches, each once.",
       .examples = {{"hearth explain model.onnx", "Shows the kernels of a model."},
                    {"hearth explain model.onnx --measure",
                     "Replays it, too, and shows the time of each kernel and what it is limited by."},
                    {"hearth explain model.onnx --measure --by operator", "Shows what operators the time is spent on."},
                    {"hearth explain model.onnx --kernel 3 --show asm", "Prints the assembly of kernel 3."},
                    {"hearth explain model.onnx --target vulkan:lavapipe --kernel 3 --show spirv",
                     "Prints the SPIR-V that kernel 3 is on a Vulkan device, which need not be here."},
                    {"hearth explain model.onnx --why-miss --threads 4",
                     "Says whether clients with four threads find the model compiled, and if not, what is nearest."}},
       .exit_statuses = {{kNotCached, "With --why-miss: the plan is not in the cache."}}});
  add_input_file(*command, "model", flags->path, "ONNX file, or plan file of hearth export")->required();
  flags->model.add_to(*command, /*with_inputs=*/true);
  add_target_to(*command, flags->target);
  command->add_option("--kernel", flags->kernel, "One kernel alone, by its number in the table or its name")
      ->type_name("KERNEL");
  command
      ->add_option("--show", flags->show,
                   "Of that kernel: its syntax tree (ast), LLVM IR (ir), assembly (asm; of a GPU's also ptx, amdgpu), "
                   "SPIR-V (spirv) "
                   "or every pass (passes)")
      ->type_name("WHAT")
      ->check(CLI::IsMember(std::vector<std::string>{"ast", "ir", "asm", "ptx", "amdgpu", "spirv", "passes"}));
  CLI::Option* const measure =
      command->add_flag("--measure", flags->measure, "Replay the model and show the time of every kernel")
          ->excludes("--target");
  add_repeated(*command, "--var", flags->vars,
               "Value of a variable that --dim NAME=MIN:MAX made, at which work is counted and --measure replays")
      ->type_name("NAME=N")
      ->each(unique_name("--var"));
  command
      ->add_option("--by", flags->by,
                   "Sums in place of kernels: by operator or by node of the model; a kernel counts for the node that "
                   "most of its work is for")
      ->type_name("WHAT")
      ->check(CLI::IsMember(std::vector<std::string>{"operator", "node"}))
      ->excludes("--kernel");
  command->add_option("--seed", flags->seed, "With --measure: seed of the random values of inputs that are not given")
      ->type_name("N")
      ->needs(measure)
      ->check(whole_number())
      ->capture_default_str();
  command
      ->add_flag("--why-miss", flags->why_miss,
                 "Compile nothing: say whether the plan is in the cache, and what of its key differs from the nearest "
                 "that is")
      ->excludes("--measure")
      ->excludes("--kernel");
  command->add_flag("--dump", flags->dump, "Print the parts of the cache key, and the text of every pass and kernel");
  command->callback([flags, &action] { action = [flags] { return explain(*flags); }; });
}

}  // namespace hearth::cli
