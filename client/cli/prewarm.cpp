// hearth prewarm: compile models into the daemon's cache ahead of use. Goes on after a failure; exits 1 if any.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/model_flags.h"
#include "client/cli/print.h"
#include "client/cli/progress_bar.h"
#include "client/cli/tune_model.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PrewarmFlags {
  ModelFlags model;
  TuneFlags tune;
  bool tunes = false;
  std::vector<std::string> paths;
};

absl::StatusOr<client::PrepareStats> prewarm_one(const std::string& path, const PrewarmFlags& all) {
  const ModelFlags& flags = all.model;
  client::connect_early(flags.prepare_config());
  absl::StatusOr<Model> model = load_model(path, flags);
  if (!model.ok()) return model.status();
  if (all.tunes) {
    const absl::StatusOr<v1::TuneResult> tuned = tune_model(path, *model, flags, all.tune);
    if (!tuned.ok()) return tuned.status();
  }
  ProgressBar bar(path, !flags.json);
  client::PrepareConfig config = flags.prepare_config();
  config.progress = bar.callback();
  absl::StatusOr<client::PreparedPlan> plan = client::prepare(model->traced, config);
  if (!plan.ok()) return plan.status();
  note_daemon_of(config.socket);
  return plan->stats();
}

absl::StatusOr<int> prewarm(const PrewarmFlags& flags) {
  int failures = 0;
  Json models = Json::array();
  for (const std::string& path : flags.paths) {
    const auto stats = prewarm_one(path, flags);
    if (!stats.ok()) {
      ++failures;
      models.push_back({{"model", path}, {"error", std::string(stats.status().message())}});
      if (!flags.model.json) complain(stats.status().message());
      continue;
    }
    models.push_back({{"model", path},
                      {"prepare_ms", stats->prepare_ms},
                      {"kernels", stats->kernels},
                      {"compiled_kernels", stats->compiled_kernels},
                      {"cache_hits", stats->cache_hits}});
    if (flags.model.json) continue;
    print_summary(path, ": ", stats->kernels, " kernels, ", stats->compiled_kernels, " compiled now, ",
                  human_time(stats->prepare_ms * 1e3));
  }
  if (flags.model.json) print_json({{"models", models}, {"failures", failures}});
  return failures == 0 ? 0 : 1;
}

}  // namespace

void add_prewarm(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PrewarmFlags>();
  CLI::App* command = command_line::add_command(
      app, "prewarm", "Compile models into the cache ahead of use",
      {.details = "Goes on after a model that failed.",
       .examples = {{"hearth prewarm *.onnx", "Compiles every model of a folder."}},
       .exit_statuses = {{1, "At least one model failed; standard error says which and why."}}});
  add_input_files(*command, "models", flags->paths, "ONNX files")->required();
  flags->model.add_to(*command, /*with_inputs=*/false);
  command->add_flag("--tune", flags->tunes, "Search for faster code first, as hearth tune does");
  flags->tune.add_to(*command);
  command->callback([flags, &action] { action = [flags] { return prewarm(*flags); }; });
}

}  // namespace hearth::cli
