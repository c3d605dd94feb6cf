// A model from its file to a plan that is ready to be replayed, through the daemon, with progress on the terminal; and
// what the daemon has to say of it. Starts a daemon when none runs. Errors: those of load_model and client::prepare.
//
//   absl::StatusOr<PreparedModel> prepared = prepare_model("model.onnx", flags);
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/load_model.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::cli {

struct PreparedModel {
  Model model;
  client::PreparedPlan plan;
};

// `check` looks at the model, or refuses it, before it is prepared.
absl::StatusOr<PreparedModel> prepare_model(const std::string& path, const ModelFlags& flags,
                                            const std::function<absl::Status(Model&)>& check = nullptr);
// The second half of it. `path` only names the model.
absl::StatusOr<client::PreparedPlan> prepare_plan(const std::string& path, const Model& model,
                                                  const client::PrepareConfig& config, bool progress);

struct ExplainWish {
  std::optional<v1::Target> target;       // instead of what the configuration says
  bool dump = false;                      // the text of every pass of everything
  std::vector<std::string> kernels;       // whose passes, IR and assembly are wanted
  bool only_key = false;                  // nothing is compiled
  std::vector<std::int64_t> values = {};  // of the graph's variables, at which work is counted; none: upper bounds
};
// May take as long as preparing does, and prepares.
absl::StatusOr<v1::ExplainResponse> explain_model(const Model& model, const client::PrepareConfig& config,
                                                  const ExplainWish& wish = {});

}  // namespace hearth::cli
