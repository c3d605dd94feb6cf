// hearth prewarm: compile models into the daemon's cache ahead of use. The number of threads is part of what is
// compiled, so each number that clients use is filled for. Goes on after a failure; exits 1 if any.
#include <CLI/CLI.hpp>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/coverage_receipt.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/manifest.h"
#include "client/cli/packs.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/progress_bar.h"
#include "client/cli/target_flag.h"
#include "client/cli/trace_file.h"
#include "client/cli/tune_model.h"
#include "client/cli/weights_report.h"
#include "client/files/plan_file_contents.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/prepared_state.h"
#include "client/jit/request.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "command_line/command.h"
#include "runtime/devices/devices.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PrewarmFlags {
  ModelFlags model;
  TuneFlags tune;
  bool tunes = false;
  std::vector<int> threads;  // empty: as many as a client has that sets nothing
  std::string target;        // empty: this machine as the flags say
  int jobs = 1;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  std::string report;  // empty: none is written
  std::string manifest;
  std::vector<std::string> paths;
  TraceFile trace;
};

// One model with one set of lengths, for each of its numbers of threads or targets.
struct Item {
  std::string path;
  std::string name;  // for people: the path, and what tells it from others of the same one
  ModelFlags flags;
  std::vector<client::PrepareConfig> configs;               // one a number of threads
  std::vector<std::pair<std::string, v1::Target>> targets;  // to compile for instead of this machine
};

// --dim, for each model those that it has. What no model has is an error, unless a model could not be read: it may be
// the one that has it.
class DimShares {
 public:
  static absl::StatusOr<DimShares> of(const PrewarmFlags& flags) {
    DimShares shares;
    onnx::ImportOptions options;
    HEARTH_RETURN_IF_ERROR(flags.model.add_dims_to(options));
    std::set<std::string> given;
    for (const auto& [name, range] : options.dims) given.insert(name);
    for (const auto& [name, text] : options.dim_expressions) given.insert(name);
    if (given.empty()) return shares;
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
        if (given.contains(name)) dims.push_back(flag_of(flags.model, name));
      }
    }
    for (const std::string& name : given) {
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

// Lets as many bytes of models be at work as the budget holds, one model of any size always.
class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void enter(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return used_bytes_ == 0 || used_bytes_ + bytes <= limit_bytes_; });
    used_bytes_ += bytes;
  }
  void leave(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      used_bytes_ -= bytes;
    }
    changed_.notify_all();
  }

 private:
  const std::uint64_t limit_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t used_bytes_ = 0;
};

class Prewarmer {
 public:
  Prewarmer(const PrewarmFlags& flags, std::vector<Item> items)
      : flags_(flags), items_(std::move(items)), memory_(flags.memory_bytes), results_(items_.size()) {}

  // Every model, --jobs at a time.
  void run() {
    client::connect_early(items_.front().configs.front());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < items_.size(); i = next++) {
        std::error_code ignored;
        const std::uintmax_t file_bytes = std::filesystem::file_size(items_[i].path, ignored);
        const std::uint64_t bytes = kModelBytes + (ignored ? 0 : kBytesPerFileByte * file_bytes);
        memory_.enter(bytes);
        prewarm(i);
        memory_.leave(bytes);
      }
    };
    std::vector<std::thread> threads;
    for (int k = 1; k < flags_.jobs; ++k) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }

  absl::StatusOr<int> finish() {
    Json models = Json::array();
    std::vector<std::string> errors;
    std::size_t failed = 0;
    for (const Result& result : results_) {
      for (const Json& row : result.rows) models.push_back(row);
      for (const absl::Status& error : result.errors) errors.emplace_back(error.message());
      failed += result.errors.empty() ? 0 : 1;
    }
    if (flags_.model.json) {
      print_json({{"models", models}, {"failures", errors.size()}});
    } else if (failed > 0) {
      print_error(failed, " of ", items_.size(), " models failed:");
      for (const std::string& error : errors) print_error(error);
    }
    note_threads();
    if (!flags_.report.empty()) {
      receipt_.came_from(packs_of_plans(flags_.model.socket));
      HEARTH_RETURN_IF_ERROR(receipt_.write(flags_.report, items_.size()));
    }
    return failed > 0 ? kFailure : 0;
  }

 private:
  struct Result {  // of one model, in the order of the command line
    std::vector<Json> rows;
    std::vector<absl::Status> errors;
  };
  // What importing a model takes beside its file, and for each of its bytes, roughly.
  static constexpr std::uint64_t kModelBytes = 32u << 20;
  static constexpr std::uint64_t kBytesPerFileByte = 2;

  void prewarm(std::size_t index) {
    const Item& item = items_[index];
    const Span span(item.name, "client");
    if (client::is_plan_file(item.path)) return check_plan_file(index);
    Span loading("load the model", "client");
    const absl::StatusOr<Model> model = load_model(item.path, item.flags);
    loading.end();
    if (!model.ok()) return fail(index, model.status());
    for (const auto& target : item.targets) {
      if (absl::Status prepared = prewarm(index, *model, item.configs.front(), &target); !prepared.ok())
        fail(index, prepared);
    }
    for (std::size_t i = 0; item.targets.empty() && i < item.configs.size(); ++i) {
      if (absl::Status prepared = prewarm(index, *model, item.configs[i], nullptr); !prepared.ok())
        fail(index, prepared);
    }
  }

  // `named`: to compile for instead of this machine, or null.
  absl::Status prewarm(std::size_t index, const Model& model, const client::PrepareConfig& config,
                       const std::pair<std::string, v1::Target>* named) {
    const Item& item = items_[index];
    const std::string& path = item.path;
    const bool progress = !flags_.model.json && flags_.jobs == 1;
    if (flags_.tunes) {
      HEARTH_ASSIGN_OR_RETURN(const v1::TuneResult tuned, tune_model(path, model, config, progress, flags_.tune));
    }
    CoveredPlan covered;
    covered.path = path;
    covered.weights = weights_name(item.flags.weights);
    covered.config = config;
    covered.dims = item.flags.dims;
    covered.consts = item.flags.consts;
    if (named != nullptr || runtime::runs_on_host(config.device)) {
      HEARTH_ASSIGN_OR_RETURN(const v1::Target target, named != nullptr ? named->second : client::target_for(config));
      ProgressBar bar(path, progress);
      client::PrepareConfig watched = config;
      watched.progress = bar.callback();
      watched.model = model.name;
      HEARTH_ASSIGN_OR_RETURN(const client::PrepareStats stats, client::prewarm(model.traced, target, watched));
      covered.target = target;
      covered.stats = stats;
    } else {  // which device it is on turns out where it is loaded
      HEARTH_ASSIGN_OR_RETURN(const client::PreparedPlan plan, prepare_plan(path, model, config, progress));
      covered.target = loaded_plan(plan).plan().target;
      covered.stats = plan.stats();
    }
    note_daemon_of(config.socket);
    tell(index, covered, named);
    receipt_.cover(covered);
    return absl::OkStatus();
  }

  void tell(std::size_t index, const CoveredPlan& covered, const std::pair<std::string, v1::Target>* named) {
    const client::PrepareStats& stats = covered.stats;
    Json row = {{"model", covered.path}};
    if (!flags_.manifest.empty()) row["dims"] = covered.dims;
    if (named != nullptr) {
      row["target"] = named->first;
    } else {
      row["threads"] = covered.target.threads();
    }
    row.update({{"prepare_ms", stats.prepare_ms},
                {"kernels", stats.kernels},
                {"compiled_kernels", stats.compiled_kernels},
                {"cache_hits", stats.cache_hits}});
    results_[index].rows.push_back(std::move(row));
    const std::lock_guard lock(mutex_);
    if (named == nullptr) threads_.insert(static_cast<int>(covered.target.threads()));
    if (flags_.model.json) return;
    const std::string whom = named != nullptr ? named->first : counted(covered.target.threads(), "thread");
    print_summary(items_[index].name, ": ", counted(stats.kernels, "kernel"), " for ", whom, ", ",
                  stats.compiled_kernels, " compiled now, ", human_time(stats.prepare_ms * 1e3));
  }

  void check_plan_file(std::size_t index) {
    const std::string& path = items_[index].path;
    const absl::StatusOr<client::PlanFileContents> contents = client::read_plan_file(path);
    if (!contents.ok()) return fail(index, contents.status());
    results_[index].rows.push_back({{"model", path}, {"plan_file", true}, {"kernels", contents->plan.kernels_size()}});
    if (flags_.model.json) return;
    const std::lock_guard lock(mutex_);
    print_summary(path, ": a plan file, which holds its ",
                  counted(static_cast<std::uint64_t>(contents->plan.kernels_size()), "kernel"),
                  " compiled; nothing to do");
  }

  void fail(std::size_t index, const absl::Status& status) {
    const std::string &path = items_[index].path, &name = items_[index].name;
    results_[index].rows.push_back({{"model", path}, {"error", std::string(status.message())}});
    // Whatever the error is about, one of several models is named.
    const bool is_named = status.message().find(path) != std::string::npos;
    results_[index].errors.push_back(
        is_named ? status : absl::Status(status.code(), str_cat(name, ": ", std::string(status.message()))));
    receipt_.miss(path, status);
  }

  // Who names no number may not know that there is one.
  void note_threads() const {
    const client::PrepareConfig& first = items_.front().configs.front();
    if (threads_.empty() || first.threads != 0 || !runtime::runs_on_host(first.device) || flags_.model.json) return;
    note("clients with another number of threads than ", *threads_.begin(), " compile anew: see --threads");
  }

  const PrewarmFlags& flags_;
  const std::vector<Item> items_;
  MemoryGate memory_;
  std::vector<Result> results_;  // each belongs to the thread that is at its model
  CoverageReceipt receipt_;
  std::mutex mutex_;  // of the output, and threads_
  std::set<int> threads_;
};

absl::StatusOr<std::vector<client::PrepareConfig>> configs_of(const ModelFlags& flags,
                                                              const std::vector<int>& threads) {
  std::vector<client::PrepareConfig> configs;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads.size()); ++i) {
    ModelFlags one = flags;
    if (!threads.empty()) one.threads = threads[i];
    HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, one.prepare_config());
    configs.push_back(config);
  }
  return configs;
}

absl::StatusOr<Item> item_of(std::string path, std::string name, ModelFlags flags, const std::vector<int>& threads,
                             const std::vector<std::string>& targets) {
  HEARTH_ASSIGN_OR_RETURN(std::vector<client::PrepareConfig> configs, configs_of(flags, threads));
  Item item{std::move(path), std::move(name), std::move(flags), std::move(configs), {}};
  for (const std::string& text : targets) {
    HEARTH_ASSIGN_OR_RETURN(v1::Target target, target_of(text, item.configs.front()));
    item.targets.emplace_back(text, std::move(target));
  }
  return item;
}

absl::StatusOr<std::vector<Item>> items_of_paths(const PrewarmFlags& flags) {
  HEARTH_ASSIGN_OR_RETURN(const DimShares dims, DimShares::of(flags));
  const std::vector<std::string> targets =
      flags.target.empty() ? std::vector<std::string>{} : std::vector{flags.target};
  std::vector<Item> items;
  for (const std::string& path : flags.paths) {
    HEARTH_ASSIGN_OR_RETURN(Item item, item_of(path, path, dims.flags_for(path, flags.model), flags.threads, targets));
    items.push_back(std::move(item));
  }
  return items;
}

absl::StatusOr<std::vector<Item>> items_of_manifest(const PrewarmFlags& flags) {
  for (const auto& [flag, list] :
       {std::pair("--dim", &flags.model.dims), {"--const", &flags.model.consts}, {"--carry", &flags.model.carried}}) {
    if (!list->empty()) return usage_error(flag, " ", list->front(), ": the manifest says it for each model");
  }
  HEARTH_ASSIGN_OR_RETURN(const std::vector<ManifestEntry> entries, read_manifest(flags.manifest, flags.model));
  std::map<std::string, int> sets;
  for (const ManifestEntry& entry : entries) ++sets[entry.name];
  std::vector<Item> items;
  for (const ManifestEntry& entry : entries) {
    const std::string lengths = sets[entry.name] > 1 ? str_cat(" (", absl::StrJoin(entry.flags.dims, ", "), ")") : "";
    const std::vector<std::string> command_line =
        flags.target.empty() ? std::vector<std::string>{} : std::vector{flags.target};
    absl::StatusOr<Item> item = item_of(entry.path, str_cat(entry.path, lengths), entry.flags,
                                        entry.threads.empty() ? flags.threads : entry.threads,
                                        entry.targets.empty() ? command_line : entry.targets);
    if (!item.ok())
      return absl::Status(item.status().code(),
                          str_cat(flags.manifest, ": model '", entry.name, "': ", item.status().message()));
    items.push_back(*std::move(item));
  }
  return items;
}

absl::StatusOr<int> prewarm(const PrewarmFlags& flags) {
  if (flags.manifest.empty() == flags.paths.empty())
    return usage_error(flags.paths.empty() ? "give models, or --manifest" : "give models or --manifest, not both");
  HEARTH_ASSIGN_OR_RETURN(std::vector<Item> items,
                          flags.manifest.empty() ? items_of_paths(flags) : items_of_manifest(flags));
  Prewarmer prewarmer(flags, std::move(items));
  prewarmer.run();
  return prewarmer.finish();
}

}  // namespace

void add_prewarm(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PrewarmFlags>();
  CLI::App* command = command_line::add_command(
      app, "prewarm", "Compile models into the cache ahead of use",
      {.details = "The number of threads, the device, the opt level and the lengths of dimensions are part of what is "
                  "compiled: a client finds it when it asks for the same. A --dim goes to the models that have this "
                  "dimension. Goes on after a model that failed, and lists failures at the end. One that was ended, in "
                  "whatever way, goes on where it was when it is started again: what was compiled is kept.",
       .examples = {{"hearth prewarm *.onnx", "Compiles every model of a folder."},
                    {"hearth prewarm --target vulkan:lavapipe *.onnx",
                     "Compiles for machines with this device; this one need not have it."},
                    {"hearth prewarm --threads 1,4 --dim batch=1:8 encoder.onnx decoder.onnx",
                     "Compiles two models for clients with one thread and with four."},
                    {"hearth prewarm --manifest models.toml --sealed",
                     "Says whether all that a product's models need is there."},
                    {"hearth prewarm --jobs 4 --report receipt.json *.onnx",
                     "Compiles four models at a time and writes what the cache has now."},
                    {"hearth prewarm --sealed --report receipt.json *.onnx",
                     "Compiles nothing, and fails if anything is missing: the gate of a rollout."}},
       .exit_statuses = {{1, "At least one model failed; standard error says which and why."}}});
  add_input_files(*command, "models", flags->paths,
                  "ONNX files; plan files, whose kernels are compiled, are only checked");
  command
      ->add_option("--manifest", flags->manifest,
                   "TOML file that says of each model with which lengths, constants, threads, weights and devices it "
                   "is prepared (docs/onnx.md); hearth inspect --manifest writes a first one")
      ->type_name("FILE");
  flags->model.add_to(*command, /*with_inputs=*/false, ModelFlags::Threads::kOwn);
  flags->model.add_carry_to(*command);
  add_list(*command, "--threads", flags->threads,
           "Threads of the clients' replays; 0: every CPU. Without it HEARTH_THREADS, else 0")
      ->type_name("N,...")
      ->check(CLI::Range(0, kMaxThreads));
  command->add_option("--jobs", flags->jobs, "Models at work at once; the daemon divides its workers among them")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--memory", flags->memory_bytes,
                   "Memory that models at work may take in this process, roughly; one model is always at work. "
                   "Default: 4GiB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->type_name("SIZE");
  command
      ->add_option(
          "--report", flags->report,
          "Write a receipt: for which models, targets, threads and lengths the cache is filled, and what failed")
      ->type_name("FILE.json");
  CLI::Option* const tunes =
      command->add_flag("--tune", flags->tunes, "Search for faster code first, as hearth tune does");
  flags->tune.add_to(*command, tunes);
  tunes->excludes(command->get_option("--sealed"));
  add_target_to(*command, flags->target);
  command->get_option("--target")->excludes(tunes);
  flags->trace.add_to(*command);
  command->callback([flags, &action] {
    action = [flags] { return traced(flags->trace, "hearth prewarm", [flags] { return prewarm(*flags); }); };
  });
}

}  // namespace hearth::cli
