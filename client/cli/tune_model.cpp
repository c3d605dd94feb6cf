#include "client/cli/tune_model.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>

#include "base/status_macros.h"
#include "client/cli/candidate_timer.h"
#include "client/cli/checks.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "client/cli/progress_bar.h"
#include "client/jit/request.h"

namespace hearth::cli {
namespace {

constexpr std::chrono::seconds kGrace{120};  // of the search that runs when the budget ends

}  // namespace

void TuneFlags::add_to(CLI::App& command, CLI::Option* needs) {
  CLI::Option* const budget =
      command
          .add_option("--budget", budget_s, "Seconds after which searching ends; the next run goes on where it ended")
          ->type_name("SECONDS")
          ->check(number_in(0.001, 86400.0))
          ->capture_default_str();
  CLI::Option* const anew =
      command.add_flag("--again", again, "Search anew for kernels that were tuned or searched before");
  if (needs == nullptr) return;
  budget->needs(needs);
  anew->needs(needs);
}

absl::StatusOr<v1::TuneResult> tune_model(const std::string& path, const Model& model, const ModelFlags& flags,
                                          const TuneFlags& tune) {
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.prepare_config());
  return tune_model(path, model, config, !flags.json, tune);
}

absl::StatusOr<v1::TuneResult> tune_model(const std::string& path, const Model& model,
                                          const client::PrepareConfig& config, bool progress, const TuneFlags& tune) {
  if (config.sealed) return usage_error("tuning compiles, which HEARTH_SEALED forbids");
  HEARTH_ASSIGN_OR_RETURN(auto request, client::request_for<v1::TuneRequest>(model.traced, config));
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(config.socket));
  request.set_budget_ms(static_cast<std::uint64_t>(std::llround(tune.budget_s * 1000)));
  request.set_again(tune.again);
  ProgressBar bar(path, progress);
  std::function<v1::TimingAnswer(const v1::TimingTask&)> time;
  std::optional<CandidateTimer> timer;
  if (request.target().has_gpu()) {
    HEARTH_ASSIGN_OR_RETURN(const runtime::Device* const device, client::device_for(config));
    timer.emplace(device, request.target());
    time = [&timer](const v1::TimingTask& task) { return timer->answer(task); };
  }
  const auto budget = std::chrono::milliseconds(request.budget_ms());
  return channel->tune(std::move(request), std::chrono::steady_clock::now() + budget + kGrace,
                       bar.tune_callback(std::chrono::duration_cast<std::chrono::seconds>(budget)), time);
}

}  // namespace hearth::cli
