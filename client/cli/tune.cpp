// hearth tune: search for faster opts for a model's kernels. What is found is used by everybody on this daemon.
#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/opts_text.h"
#include "client/cli/print.h"
#include "client/cli/tune_model.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/request.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  ModelFlags model;
  TuneFlags tune;
  std::string path;
};

const char* name_of(v1::TunedKernel::Outcome outcome) {
  switch (outcome) {
    case v1::TunedKernel::TUNED:
      return "tuned";
    case v1::TunedKernel::HEURISTIC:
      return "heuristic kept";
    case v1::TunedKernel::KNOWN:
      return "tuned before";
    case v1::TunedKernel::SKIPPED:
      return "skipped";
    case v1::TunedKernel::FAILED:
      return "failed";
    case v1::TunedKernel::SEARCHED:
      return "searched before";
    case v1::TunedKernel::UNFINISHED:
      return "unfinished";
    default:
      return "unknown";
  }
}

double speedup(const v1::TunedKernel& kernel) {
  return kernel.best_ns() > 0 ? kernel.heuristic_ns() / kernel.best_ns() : 1;
}

Json to_json(const v1::TunedKernel& kernel) {
  return {{"symbol", kernel.symbol()},
          {"source", kernel.source()},
          {"share", kernel.share()},
          {"outcome", name_of(kernel.outcome())},
          {"heuristic", opts_text(kernel.heuristic())},
          {"best", opts_text(kernel.best())},
          {"heuristic_us", kernel.heuristic_ns() / 1e3},
          {"best_us", kernel.best_ns() / 1e3},
          {"speedup", speedup(kernel)},
          {"candidates", kernel.candidates()},
          {"failed_candidates", kernel.failed_candidates()},
          {"detail", kernel.detail()}};
}

// Why kernels were not tuned: each reason once.
void print_reasons(const v1::TuneResult& result) {
  std::map<std::pair<int, std::string>, std::vector<std::string>> kernels;  // by outcome and reason
  for (const v1::TunedKernel& kernel : result.kernels()) {
    if (kernel.outcome() == v1::TunedKernel::TUNED || kernel.detail().empty()) continue;
    kernels[{kernel.outcome(), kernel.detail()}].push_back(kernel.symbol());
  }
  if (!kernels.empty()) print_line();
  for (const auto& [why, symbols] : kernels) {
    print_line(name_of(static_cast<v1::TunedKernel::Outcome>(why.first)), ": ", symbols[0],
               symbols.size() > 1 ? str_cat(" and ", symbols.size() - 1, " more") : "", ": ", why.second);
  }
}

void print_text(const v1::TuneResult& result) {
  std::vector<std::vector<std::string>> rows = {{"kernel", "share", "outcome", "before", "now", "times", "tried"}};
  for (const v1::TunedKernel& kernel : result.kernels()) {
    const bool timed = kernel.heuristic_ns() > 0;
    rows.push_back({kernel.symbol(), fixed(kernel.share() * 100, 1) + " %", name_of(kernel.outcome()),
                    timed ? human_time(kernel.heuristic_ns() / 1e3) : "-",
                    timed ? human_time(kernel.best_ns() / 1e3) : "-", timed ? fixed(speedup(kernel), 2) : "-",
                    std::to_string(kernel.candidates())});
  }
  print_table(rows);
  for (const v1::TunedKernel& kernel : result.kernels()) {
    if (kernel.outcome() == v1::TunedKernel::TUNED) {
      print_line();
      print_line(kernel.symbol());
      print_line("  heuristic ", opts_text(kernel.heuristic()));
      print_line("  tuned     ", opts_text(kernel.best()));
    }
  }
  print_reasons(result);
}

// What was tuned is in the cache when this command ends, also for processes that compile nothing.
absl::StatusOr<client::PrepareStats> prepare_again(const Model& model, const ModelFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.prepare_config());
  HEARTH_ASSIGN_OR_RETURN(const v1::Target target, client::target_for(config));
  return client::prewarm(model.traced, target, config);
}

absl::StatusOr<int> tune(const Flags& flags) {
  if (client::is_plan_file(flags.path)) {
    return refuse_plan_file(flags.path, "tune the model that it was exported from, then export it again");
  }
  HEARTH_ASSIGN_OR_RETURN(Model model, load_model(flags.path, flags.model));
  HEARTH_ASSIGN_OR_RETURN(const v1::TuneResult result, tune_model(flags.path, model, flags.model, flags.tune));
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareStats again, prepare_again(model, flags.model));
  // This plan is among the cache's plans that changed.
  const std::uint32_t others = result.changed_plans() > 0 ? result.changed_plans() - 1 : 0;
  if (flags.model.json) {
    Json kernels = Json::array();
    for (const v1::TunedKernel& kernel : result.kernels()) kernels.push_back(to_json(kernel));
    print_json({{"model", flags.path},
                {"kernels", kernels},
                {"prepared", {{"kernels", again.kernels}, {"compiled_kernels", again.compiled_kernels}}},
                {"other_plans", others}});
    return 0;
  }
  print_text(result);
  print_line();
  print_line("prepared again: ", again.kernels, again.kernels == 1 ? " kernel, " : " kernels, ", again.compiled_kernels,
             " compiled now");
  if (others > 0) {
    print_line(others, others == 1 ? " other plan has" : " other plans have",
               " a kernel that was tuned: hearth prewarm makes them anew; until then sealed processes run them as they "
               "are, others wait for these kernels once");
  }
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = command_line::add_command(
      app, "tune", "Search for faster code for a model's kernels",
      {.details = "What is found is kept by the daemon, and every later prepare of these kernels uses it. The model's "
                  "own plan is prepared again at the end; plans without a kernel that was tuned stay as they are.",
       .examples = {{"hearth tune model.onnx --budget 120", "Searches for two minutes."},
                    {"hearth tune model.onnx --device vulkan",
                     "Searches for its kernels on a GPU, on which this command times them."}}});
  add_input_file(*command, "model", flags->path, "ONNX file")->required();
  flags->model.add_to(*command, /*with_inputs=*/true);
  command->remove_option(command->get_option("--sealed"));  // it compiles
  flags->tune.add_to(*command);
  command->callback([flags, &action] { action = [flags] { return tune(*flags); }; });
}

}  // namespace hearth::cli
