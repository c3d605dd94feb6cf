// hearth prewarm: compile models into the daemon's cache ahead of use. The number of threads is part of what is
// compiled, so each number that clients use is filled for. Goes on after a failure; exits 1 if any.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/target_flag.h"
#include "client/cli/tune_model.h"
#include "client/files/plan_file_contents.h"
#include "client/jit/prepare_encoded.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "command_line/command.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PrewarmFlags {
  ModelFlags model;
  TuneFlags tune;
  bool tunes = false;
  std::vector<int> threads;  // empty: as many as a client has that sets nothing
  std::string target;        // empty: this machine as the flags say
  std::vector<std::string> paths;
};

struct Failure {
  std::string model;
  absl::Status status;
};

// --dim, for each model those that it has. What no model has is an error, unless a model could not be read: it may be
// the one that has it.
class DimShares {
 public:
  static absl::StatusOr<DimShares> of(const PrewarmFlags& flags) {
    DimShares shares;
    const auto ranges = flags.model.dim_ranges();
    if (!ranges.ok()) return ranges.status();
    if (ranges->empty()) return shares;
    std::set<std::string> known;
    bool is_complete = true;
    for (const std::string& path : flags.paths) {
      if (client::is_plan_file(path)) continue;
      const auto model = onnx::read_model(path);
      is_complete &= model.ok();
      if (!model.ok()) continue;
      std::vector<std::string>& dims = shares.dims_[path];
      for (const std::string& name : onnx::summarize(*model).symbolic_dims) {
        known.insert(name);
        if (ranges->count(name) > 0) dims.push_back(flag_of(flags.model, name));
      }
    }
    for (const auto& [name, range] : *ranges) {
      if (known.count(name) > 0 || !is_complete) continue;
      return usage_error("--dim ", name, ": none of the models has this dimension (they have: ",
                         known.empty() ? "none" : absl::StrJoin(known, ", "), ")");
    }
    return shares;
  }

  ModelFlags flags_for(const std::string& path, const ModelFlags& all) const {
    ModelFlags flags = all;
    const auto found = dims_.find(path);
    if (found != dims_.end()) flags.dims = found->second;
    return flags;
  }

 private:
  static std::string flag_of(const ModelFlags& flags, const std::string& name) {
    for (const std::string& text : flags.dims) {
      if (text.rfind(name + "=", 0) == 0) return text;
    }
    return name;
  }

  std::map<std::string, std::vector<std::string>> dims_;  // by path
};

class Prewarmer {
 public:
  // `target`: to compile for instead of this machine.
  Prewarmer(const PrewarmFlags& flags, const DimShares& dims, std::vector<client::PrepareConfig> configs,
            std::optional<v1::Target> target)
      : flags_(flags), dims_(dims), configs_(std::move(configs)), target_(std::move(target)) {}

  void prewarm(const std::string& path) {
    if (client::is_plan_file(path)) return check_plan_file(path);
    client::connect_early(configs_[0]);
    const absl::StatusOr<Model> model = load_model(path, dims_.flags_for(path, flags_.model));
    if (!model.ok()) return fail(path, model.status());
    for (const client::PrepareConfig& config : configs_) {
      if (absl::Status prepared = prewarm(path, *model, config); !prepared.ok()) fail(path, prepared);
    }
  }

  int finish() {
    if (flags_.model.json) {
      print_json({{"models", models_}, {"failures", failures_.size()}});
    } else if (!failures_.empty()) {
      std::set<std::string> failed;
      for (const Failure& failure : failures_) failed.insert(failure.model);
      complain(failed.size(), " of ", flags_.paths.size(), " models failed:");
      for (const Failure& failure : failures_) complain(failure.status.message());
    }
    note_threads();
    return failures_.empty() ? 0 : kFailure;
  }

 private:
  absl::Status prewarm(const std::string& path, const Model& model, const client::PrepareConfig& config) {
    const bool progress = !flags_.model.json;
    if (flags_.tunes) {
      const absl::StatusOr<v1::TuneResult> tuned = tune_model(path, model, config, progress, flags_.tune);
      if (!tuned.ok()) return tuned.status();
    }
    if (target_) return prewarm_target(path, model, config);
    const absl::StatusOr<client::PreparedPlan> plan = prepare_plan(path, model, config, progress);
    if (!plan.ok()) return plan.status();
    threads_.insert(plan->threads());
    const client::PrepareStats& stats = plan->stats();
    models_.push_back({{"model", path},
                       {"threads", plan->threads()},
                       {"prepare_ms", stats.prepare_ms},
                       {"kernels", stats.kernels},
                       {"compiled_kernels", stats.compiled_kernels},
                       {"cache_hits", stats.cache_hits}});
    if (flags_.model.json) return absl::OkStatus();
    print_summary(path, ": ", stats.kernels, " kernels for ", plan->threads(), " thread(s), ", stats.compiled_kernels,
                  " compiled now, ", human_time(stats.prepare_ms * 1e3));
    return absl::OkStatus();
  }

  // For machines that may have another CPU, or a device that this one has not.
  absl::Status prewarm_target(const std::string& path, const Model& model, const client::PrepareConfig& config) {
    const absl::StatusOr<client::PrepareStats> stats = client::prewarm(model.traced, *target_, config);
    if (!stats.ok()) return stats.status();
    models_.push_back({{"model", path},
                       {"target", flags_.target},
                       {"prepare_ms", stats->prepare_ms},
                       {"kernels", stats->kernels},
                       {"compiled_kernels", stats->compiled_kernels},
                       {"cache_hits", stats->cache_hits}});
    if (flags_.model.json) return absl::OkStatus();
    print_summary(path, ": ", stats->kernels, " kernels for ", flags_.target, ", ", stats->compiled_kernels,
                  " compiled now, ", human_time(stats->prepare_ms * 1e3));
    return absl::OkStatus();
  }

  void check_plan_file(const std::string& path) {
    const absl::StatusOr<client::PlanFileContents> contents = client::read_plan_file(path);
    if (!contents.ok()) return fail(path, contents.status());
    models_.push_back({{"model", path}, {"plan_file", true}, {"kernels", contents->plan.kernels_size()}});
    if (flags_.model.json) return;
    print_summary(path, ": a plan file, which holds its ", contents->plan.kernels_size(),
                  " kernels compiled; nothing to do");
  }

  void fail(const std::string& path, const absl::Status& status) {
    models_.push_back({{"model", path}, {"error", std::string(status.message())}});
    failures_.push_back({path, status});
  }

  // Who names no number may not know that there is one.
  void note_threads() const {
    if (threads_.empty() || configs_[0].threads != 0 || configs_[0].device != "cpu" || flags_.model.json) return;
    note("clients with another number of threads than ", *threads_.begin(), " compile anew: see --threads");
  }

  const PrewarmFlags& flags_;
  const DimShares& dims_;
  const std::vector<client::PrepareConfig> configs_;  // one a number of threads
  const std::optional<v1::Target> target_;
  Json models_ = Json::array();
  std::vector<Failure> failures_;
  std::set<int> threads_;
};

absl::StatusOr<std::vector<client::PrepareConfig>> configs_of(const PrewarmFlags& flags) {
  const std::vector<int> all = flags.threads;
  std::vector<client::PrepareConfig> configs;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, all.size()); ++i) {
    ModelFlags one = flags.model;
    if (!all.empty()) one.threads = all[i];
    const absl::StatusOr<client::PrepareConfig> config = one.prepare_config();
    if (!config.ok()) return config.status();
    configs.push_back(*config);
  }
  return configs;
}

absl::StatusOr<int> prewarm(const PrewarmFlags& flags) {
  const auto configs = configs_of(flags);
  if (!configs.ok()) return configs.status();
  std::optional<v1::Target> target;
  if (!flags.target.empty()) {
    absl::StatusOr<v1::Target> named = target_of(flags.target, configs->front());
    if (!named.ok()) return named.status();
    target = *std::move(named);
  }
  const absl::StatusOr<DimShares> dims = DimShares::of(flags);
  if (!dims.ok()) return dims.status();
  Prewarmer prewarmer(flags, *dims, *configs, std::move(target));
  for (const std::string& path : flags.paths) prewarmer.prewarm(path);
  return prewarmer.finish();
}

}  // namespace

void add_prewarm(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PrewarmFlags>();
  CLI::App* command = command_line::add_command(
      app, "prewarm", "Compile models into the cache ahead of use",
      {.details = "The number of threads, the device, the opt level and the lengths of dimensions are part of what is "
                  "compiled: a client finds it when it asks for the same. A --dim goes to the models that have this "
                  "dimension. Goes on after a model that failed, and lists failures at the end.",
       .examples = {{"hearth prewarm *.onnx", "Compiles every model of a folder."},
                    {"hearth prewarm --target vulkan:lavapipe *.onnx",
                     "Compiles for machines with this device; this one need not have it."},
                    {"hearth prewarm --threads 1,4 --dim batch=1:8 encoder.onnx decoder.onnx",
                     "Compiles two models for clients with one thread and with four."}},
       .exit_statuses = {{1, "At least one model failed; standard error says which and why."}}});
  add_input_files(*command, "models", flags->paths,
                  "ONNX files; plan files, whose kernels are compiled, are only checked")
      ->required();
  flags->model.add_to(*command, /*with_inputs=*/false, ModelFlags::Threads::kOwn);
  command
      ->add_option("--threads", flags->threads,
                   "Threads of the clients' replays; 0: every CPU. Without it HEARTH_THREADS, else 0")
      ->type_name("N,...")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->take_all()
      ->check(CLI::Range(0, kMostThreads));
  CLI::Option* const tunes =
      command->add_flag("--tune", flags->tunes, "Search for faster code first, as hearth tune does");
  flags->tune.add_to(*command, tunes);
  add_target_to(*command, flags->target);
  command->get_option("--target")->excludes(tunes);
  command->callback([flags, &action] { action = [flags] { return prewarm(*flags); }; });
}

}  // namespace hearth::cli
