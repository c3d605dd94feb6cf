// hearth run: prepare a model, replay it, write its outputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/numbers.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/model_flags.h"
#include "client/cli/outputs.h"
#include "client/cli/print.h"
#include "client/cli/progress_bar.h"
#include "client/plan_file.h"
#include "command_line/command.h"
#include "runtime/text.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  ModelFlags model;
  std::string path;
  std::vector<std::string> vars;  // NAME=N
  std::string output_dir;
  int repeat = 1;
  std::uint64_t seed = 0;
  bool profile = false;
};

struct ReplayTimes {
  double min = 0;
  double p50 = 0;
  double p99 = 0;
};

struct WrittenOutput {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::string file;  // empty without --output-dir
};

ReplayTimes summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  return {times.front(), at(0.5), at(0.99)};
}

// Values of the variables: what --var says, then what the arrays of --input are long, else the upper bounds.
absl::Status set_variables(client::Instance& instance, const Model& model, const std::vector<std::string>& vars) {
  std::map<std::string, std::pair<std::int64_t, std::string>> given;  // and by what
  for (const std::string& text : vars) {
    const auto flag = split_flag("--var", text, "NAME=N");
    if (!flag.ok()) return flag.status();
    std::int64_t value = 0;
    if (!absl::SimpleAtoi(flag->second, &value)) {
      return usage_error("--var ", text, ": '", flag->second, "' is not a number");
    }
    given.insert_or_assign(flag->first, std::pair(value, str_cat("--var ", text)));
  }
  for (const onnx::ModelValue& input : model.imported.inputs) {
    const auto array = model.arrays.find(input.name);
    for (std::size_t axis = 0; array != model.arrays.end() && axis < input.shape.size(); ++axis) {
      std::vector<client::Variable> names;  // one: an input's length is a constant or a variable
      input.shape[axis].collect_variables(names);
      if (names.empty()) continue;
      const std::int64_t length = array->second.shape[axis];
      const auto [known, fresh] =
          given.emplace(names[0].name, std::pair(length, str_cat("the array of input '", input.name, "'")));
      if (!fresh && known->second.first != length) {
        return absl::InvalidArgumentError(str_cat("variable '", names[0].name, "' is ", known->second.first, " by ",
                                                  known->second.second, " but input '", input.name, "' has length ",
                                                  length, " along axis ", axis));
      }
    }
  }
  for (const auto& [name, value] : given) {
    if (absl::Status set = instance.set_var(name, value.first); !set.ok()) {
      return absl::Status(set.code(), str_cat(value.second, ": ", std::string(set.message())));
    }
  }
  return absl::OkStatus();
}

// Gives every input the plan reads its bytes: from --input, else seeded uniform values.
absl::Status fill_inputs(client::Instance& instance, const client::PreparedPlan& plan, Model& model,
                         std::uint64_t seed) {
  std::set<std::string> wanted;
  for (const client::ValueInfo& input : plan.inputs()) wanted.insert(input.name);
  for (const onnx::ModelValue& input : model.imported.inputs) {
    if (wanted.count(input.name) == 0) continue;
    // Into the instance's own memory, which is aligned and asks for huge pages.
    const absl::StatusOr<client::MutableView> own = instance.input(input.name);
    if (!own.ok()) return own.status();
    const auto found = model.arrays.find(input.name);
    const std::string bytes =
        found != model.arrays.end()
            ? std::move(found->second.bytes)
            : uniform_bytes(input.name, own->dtype, own->size_bytes / dtype_bytes(own->dtype), seed);
    if (found != model.arrays.end() && found->second.shape != own->shape) {
      return absl::InvalidArgumentError(str_cat("input '", input.name, "' has shape ", shape_text(found->second.shape),
                                                "; the plan reads ", shape_text(own->shape), " (see --var)"));
    }
    std::memcpy(own->data, bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WrittenOutput>> write_outputs(const client::Instance& instance, const Model& model,
                                                         const std::string& output_dir) {
  std::vector<WrittenOutput> written;
  std::set<std::string> files;
  if (!output_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(output_dir, error);
    if (error) {
      return absl::PermissionDeniedError(
          str_cat("--output-dir ", output_dir, ": cannot be created: ", error.message()));
    }
  }
  const auto results = read_results(instance, model.imported);
  if (!results.ok()) return results.status();
  for (std::size_t r = 0; r < results->size(); ++r) {
    const client::Array& array = (*results)[r];
    const std::string& result_name = model.imported.results[r].name;
    WrittenOutput output{result_name, array.dtype, array.shape, ""};
    if (!output_dir.empty()) {
      std::string name = file_name(result_name);
      for (int i = 2; !files.insert(name).second; ++i) name = str_cat(file_name(result_name), "_", i);
      output.file = (std::filesystem::path(output_dir) / (name + ".npy")).string();
      absl::Status saved =
          client::write_npy(output.file, array.dtype, array.shape, array.bytes.data(), array.bytes.size());
      if (!saved.ok()) return saved;
    }
    written.push_back(std::move(output));
  }
  return written;
}

void print_as_json(const client::PreparedPlan& plan, const ReplayTimes& times,
                   const std::vector<WrittenOutput>& outputs, const client::Profile* profile) {
  const client::PrepareStats& stats = plan.stats();
  Json json = {
      {"prepare_ms", stats.prepare_ms},  {"rpc_ms", stats.rpc_ms},
      {"kernels", stats.kernels},        {"compiled_kernels", stats.compiled_kernels},
      {"cache_hits", stats.cache_hits},  {"plan_hit", stats.plan_hit},
      {"plan_key", hex(stats.plan_key)}, {"replay_us", {{"min", times.min}, {"p50", times.p50}, {"p99", times.p99}}},
      {"device", plan.device()},         {"threads", plan.threads()},
      {"outputs", Json::array()}};
  for (const WrittenOutput& output : outputs) {
    Json item = {{"name", output.name}, {"dtype", std::string(dtype_name(output.dtype))}, {"shape", output.shape}};
    item["file"] = output.file.empty() ? Json() : Json(output.file);
    json["outputs"].push_back(item);
  }
  if (profile != nullptr) {
    json["profile"] = Json::array();
    for (const auto& row : profile->by_kernel()) {
      json["profile"].push_back({{"kernel", row.kernel},
                                 {"launches", row.launches},
                                 {"time_us", static_cast<double>(row.time_ns) / 1e3},
                                 {"num_ops", row.num_ops}});
    }
  }
  print_json(json);
}

void print_text(const RunFlags& flags, const client::PreparedPlan& plan, const ReplayTimes& times,
                const std::vector<WrittenOutput>& outputs, const client::Profile* profile) {
  const client::PrepareStats& stats = plan.stats();
  print_summary(flags.path, " on ", plan.device(), ", ", plan.threads(), " thread(s)");
  print_summary("prepared in ", human_time(stats.prepare_ms * 1e3), ": ", stats.kernels, " kernels, ",
                stats.compiled_kernels, " compiled now");
  print_summary("replay p50 ", human_time(times.p50), ", min ", human_time(times.min), ", p99 ", human_time(times.p99),
                " over ", flags.repeat);
  for (const WrittenOutput& output : outputs) {
    print_summary("output ", output.name, " ", dtype_name(output.dtype), shape_text(output.shape),
                  output.file.empty() ? "" : " -> " + output.file);
  }
  if (profile == nullptr) return;
  std::vector<std::vector<std::string>> rows = {{"kernel", "launches", "time", "share", "GFLOP/s"}};
  for (const auto& row : profile->by_kernel()) {
    const auto time = static_cast<double>(row.time_ns);
    rows.push_back({row.kernel, std::to_string(row.launches), human_time(time / 1e3),
                    fixed(100 * time / static_cast<double>(std::max<std::uint64_t>(1, profile->total_ns)), 1) + " %",
                    fixed(static_cast<double>(row.num_ops) / std::max(1.0, time), 2)});
  }
  print_table(rows);
}

struct Prepared {
  Model model;
  client::PreparedPlan plan;
};

absl::StatusOr<Prepared> prepare_model(const RunFlags& flags) {
  client::connect_early(flags.model.prepare_config());  // while the model is read
  absl::StatusOr<Model> model = load_model(flags.path, flags.model);
  if (!model.ok()) return model.status();
  ProgressBar bar(flags.path, !flags.model.json);
  client::PrepareConfig config = flags.model.prepare_config();
  config.progress = bar.callback();
  absl::StatusOr<client::PreparedPlan> plan = client::prepare(model->traced, config);
  if (!plan.ok()) return plan.status();
  note_daemon_of(config.socket);
  return Prepared{*std::move(model), *std::move(plan)};
}

absl::StatusOr<Prepared> load_plan(const RunFlags& flags) {
  absl::StatusOr<client::PreparedPlan> plan = client::load_plan(flags.path, {.threads = flags.model.threads});
  if (!plan.ok()) return plan.status();
  absl::StatusOr<Model> model = model_of(*plan, flags.path, flags.model);
  if (!model.ok()) return model.status();
  return Prepared{*std::move(model), *std::move(plan)};
}

absl::StatusOr<int> run(const RunFlags& flags) {
  absl::StatusOr<Prepared> prepared = client::is_plan_file(flags.path) ? load_plan(flags) : prepare_model(flags);
  if (!prepared.ok()) return prepared.status();
  Model* const model = &prepared->model;
  const client::PreparedPlan* const plan = &prepared->plan;
  absl::StatusOr<client::Instance> instance = plan->instantiate();
  if (!instance.ok()) return instance.status();
  if (absl::Status set = set_variables(*instance, *model, flags.vars); !set.ok()) return set;
  if (absl::Status filled = fill_inputs(*instance, *plan, *model, flags.seed); !filled.ok()) return filled;
  std::vector<double> times;
  for (int i = 0; i < flags.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status ran = instance->execute(); !ran.ok()) return ran;
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  auto outputs = write_outputs(*instance, *model, flags.output_dir);
  if (!outputs.ok()) return outputs.status();
  client::Profile profile;
  if (flags.profile) {
    absl::StatusOr<client::Profile> profiled = instance->execute_profiled();
    if (!profiled.ok()) return profiled.status();
    profile = *std::move(profiled);
  }
  const client::Profile* shown = flags.profile ? &profile : nullptr;
  if (flags.model.json) {
    print_as_json(*plan, summarize(times), *outputs, shown);
  } else {
    print_text(flags, *plan, summarize(times), *outputs, shown);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = command_line::add_command(
      app, "run", "Run a model: prepare it through the daemon, replay it here",
      {.details = "Prints how long preparing and replaying took, and every output's name, type and shape. Outputs are "
                  "written with --output-dir, each into a file that is named after it: letters of any language stay, "
                  "what a file name cannot hold becomes _, and the name of the file is printed.",
       .examples = {{"hearth run model.onnx --input x=x.npy --output-dir out", "Runs a model on an array."},
                    {"hearth run model.onnx --dim batch=8 --repeat 1000 --json", "Measures 1000 replays."},
                    {"curl -s https://example.org/model.onnx | hearth run -", "Runs a model from a pipe."}}});
  add_input_file(*command, "model", flags->path, "ONNX file, or plan file of hearth export")->required();
  flags->model.add_to(*command, /*with_inputs=*/true);
  command->add_option("--var", flags->vars, "Value of a variable that --dim NAME=MIN:MAX made")
      ->type_name("NAME=N")
      ->take_all();
  command->add_option("--output-dir", flags->output_dir, "Write every output as NAME.npy into this folder")
      ->type_name("FOLDER");
  command->add_option("--repeat", flags->repeat, "Replays to measure")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of the random values of inputs that are not given")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  command->add_flag("--profile", flags->profile, "Show the time of every kernel");
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace hearth::cli
