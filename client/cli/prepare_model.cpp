#include "client/cli/prepare_model.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "base/span.h"
#include "base/status_macros.h"
#include "client/cli/connect.h"
#include "client/cli/print.h"
#include "client/cli/progress_bar.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/request.h"

namespace hearth::cli {

absl::StatusOr<client::PreparedPlan> prepare_plan(const std::string& path, const Model& model,
                                                  const client::PrepareConfig& config, bool progress) {
  ProgressBar bar(path, progress);
  client::PrepareConfig watched = config;
  watched.progress = bar.callback();
  watched.model = model.name;
  watched.fixed_inputs = model.imported.fixed_inputs;
  Span preparing("prepare", "client");
  absl::StatusOr<client::PreparedPlan> plan = client::prepare(model.traced, watched);
  preparing.end();
  if (!plan.ok()) return plan;
  note_daemon_of(config.socket);
  for (const std::string& said : plan->stats().device_notes) note(said);
  if (!plan->stats().passed_over.empty())
    note("on ", plan->device(), ", because not on ", absl::StrJoin(plan->stats().passed_over, "; nor on "));
  return plan;
}

absl::StatusOr<PreparedModel> prepare_model(const std::string& path, const ModelFlags& flags,
                                            const std::function<absl::Status(Model&)>& check) {
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.prepare_config());
  client::connect_early(config);  // while the model is read
  Span loading("load the model", "client");
  absl::StatusOr<Model> model = load_model(path, flags);
  loading.end();
  HEARTH_RETURN_IF_ERROR(model.status());
  HEARTH_RETURN_IF_ERROR(check ? check(*model) : absl::OkStatus());
  HEARTH_ASSIGN_OR_RETURN(client::PreparedPlan plan, prepare_plan(path, *model, config, !flags.json));
  return PreparedModel{*std::move(model), std::move(plan)};
}

absl::StatusOr<v1::ExplainResponse> explain_model(const Model& model, const client::PrepareConfig& config,
                                                  const ExplainWish& wish) {
  HEARTH_ASSIGN_OR_RETURN(v1::Target target, wish.target ? *wish.target : client::target_for(config));
  auto request = client::request_for<v1::ExplainRequest>(model.traced, config, std::move(target));
  request.set_model(model.name);
  request.mutable_options()->set_dump(wish.dump);
  request.set_only_key(wish.only_key);
  request.mutable_options()->mutable_var_values()->Assign(wish.values.begin(), wish.values.end());
  for (const std::string& kernel : wish.kernels) request.add_dump_kernels(kernel);
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(config.socket));
  const auto deadline = std::chrono::steady_clock::now() + config.deadline;
  if (config.sealed && !wish.only_key) {
    v1::ExplainRequest look = request;
    look.set_only_key(true);
    HEARTH_ASSIGN_OR_RETURN(const v1::ExplainResponse found, channel->explain(std::move(look), deadline));
    if (!found.plan_cached())
      return absl::FailedPreconditionError(
          "sealed: nothing is compiled, and the plan is not in the cache; hearth explain --why-miss says what is "
          "nearest");
  }
  return channel->explain(std::move(request), deadline);
}

}  // namespace hearth::cli
