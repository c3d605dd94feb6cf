// Tuning one model through the daemon: what `hearth tune` and `hearth prewarm --tune` share. Errors: status.
//
//   TuneFlags flags;
//   flags.add_to(*command);
//   absl::StatusOr<v1::TuneResult> tuned = tune_model(path, *model, model_flags, flags);
#pragma once
#include <string>

#include "client/cli/load_model.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::cli {

struct TuneFlags {
  double budget_s = 60;
  bool again = false;

  // `needs`: the option without which these say nothing, or null.
  void add_to(CLI::App& command, CLI::Option* needs = nullptr);
};

// Shows progress on a terminal unless JSON is wanted. Starts a daemon when none runs.
absl::StatusOr<v1::TuneResult> tune_model(const std::string& path, const Model& model, const ModelFlags& flags,
                                          const TuneFlags& tune);
absl::StatusOr<v1::TuneResult> tune_model(const std::string& path, const Model& model,
                                          const client::PrepareConfig& config, bool progress, const TuneFlags& tune);

}  // namespace hearth::cli
