// hearth run: prepare a model, replay it, write its outputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/checks.h"
#include "client/cli/command.h"
#include "client/cli/expectations.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/kernel_profile.h"
#include "client/cli/outputs.h"
#include "client/cli/prepare_model.h"
#include "client/cli/print.h"
#include "client/cli/replay_inputs.h"
#include "client/cli/trace_file.h"
#include "client/cli/weights_report.h"
#include "client/jit/prepared_state.h"
#include "client/onnx/test_data.h"
#include "command_line/command.h"
#include "hearth/npy.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  ModelFlags model;
  std::string path;
  bool is_plan = false;                 // whatever its name
  std::vector<std::string> vars;        // NAME=N
  std::vector<std::string> parameters;  // files, for a plan file
  std::string output_dir;
  int repeat = 1;
  std::uint64_t seed = 0;
  bool profile = false;
  bool compares = false;
  ExpectFlags expect;
  TraceFile trace;
};

struct ReplayTimes {
  double min = 0;
  double p50 = 0;
  double p99 = 0;
  std::size_t replays = 0;
};

struct WrittenOutput {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::string file;                                 // empty without --output-dir
  std::optional<double> difference = std::nullopt;  // from f32 weights', with --compare-f32
};

ReplayTimes summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  return {times.front(), at(0.5), at(0.99), times.size()};
}

// The file of each result; refused when one of them is read by this command, or is another result's.
absl::StatusOr<std::vector<std::string>> output_paths(const Model& model, const std::string& output_dir) {
  std::vector<std::string> paths;
  std::set<std::string> files;
  OutputFiles outputs = model.files;
  for (const onnx::ModelValue& result : model.imported.results) {
    std::string name = file_name(result.name);
    for (int i = 2; !files.insert(name).second; ++i) name = str_cat(file_name(result.name), "_", i);
    paths.push_back((std::filesystem::path(output_dir) / (name + ".npy")).string());
    const absl::Status safe = outputs.writes(
        paths.back(), str_cat("--output-dir ", output_dir, ": ", name, ".npy of output '", result.name, "'"));
    if (!safe.ok()) return safe;
  }
  return paths;
}

absl::StatusOr<std::vector<WrittenOutput>> write_outputs(const std::vector<client::Array>& results, const Model& model,
                                                         const std::string& output_dir) {
  std::vector<WrittenOutput> written;
  std::vector<std::string> paths;
  if (!output_dir.empty()) {
    HEARTH_ASSIGN_OR_RETURN(auto named, output_paths(model, output_dir));
    paths = std::move(named);
    std::error_code error;
    std::filesystem::create_directories(output_dir, error);
    if (error) {
      return absl::PermissionDeniedError(
          str_cat("--output-dir ", output_dir, ": cannot be created: ", error.message()));
    }
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    const client::Array& array = results[r];
    const std::string& result_name = model.imported.results[r].name;
    WrittenOutput output{result_name, array.dtype, array.shape, ""};
    if (!output_dir.empty()) {
      output.file = paths[r];
      absl::Status saved =
          client::write_npy(output.file, array.dtype, array.shape, array.bytes.data(), array.bytes.size());
      if (!saved.ok()) return saved;
    }
    written.push_back(std::move(output));
  }
  return written;
}

void print_as_json(const client::PreparedPlan& plan, const ReplayTimes& times,
                   const std::vector<WrittenOutput>& outputs, const std::vector<std::string>& random_inputs,
                   const Json& weights, const KernelProfile* profile, const std::vector<Comparison>& comparisons) {
  const client::PrepareStats& stats = plan.stats();
  Json json = {{"prepare_ms", stats.prepare_ms},
               {"rpc_ms", stats.rpc_ms},
               {"kernels", stats.kernels},
               {"compiled_kernels", stats.compiled_kernels},
               {"cache_hits", stats.cache_hits},
               {"plan_hit", stats.plan_hit},
               {"plan_key", hex(stats.plan_key)},
               {"once_launches", stats.once_launches},
               {"shared_weight_bytes", stats.shared_weight_bytes},
               {"weights_found", stats.weights_found},
               {"replay_us", {{"min", times.min}, {"p50", times.p50}, {"p99", times.p99}}},
               {"device", plan.device()},
               {"passed_over", plan.stats().passed_over},
               {"threads", plan.threads()},
               {"random_inputs", random_inputs},
               {"outputs", Json::array()}};
  for (const WrittenOutput& output : outputs) {
    Json item = {{"name", output.name}, {"dtype", std::string(dtype_name(output.dtype))}, {"shape", output.shape}};
    item["file"] = output.file.empty() ? Json() : Json(output.file);
    if (output.difference) item["difference_from_f32"] = *output.difference;  // null where it is infinite
    json["outputs"].push_back(item);
  }
  if (!weights.is_null()) json["weights"] = weights;
  for (const Comparison& c : comparisons) {
    Json item = {{"output", c.output},
                 {"right", c.is_right()},
                 {"elements", c.elements},
                 {"beyond", c.beyond},
                 {"text", c.text()}};
    if (c.differs)
      item["worst"] = {{"place", c.place}, {"got", c.got}, {"expected", c.expected}, {"allowed", c.allowed}};
    json["expected"].push_back(item);
  }
  if (profile != nullptr) json["profile"] = profile_json(*profile);
  print_json(json);
}

// Whether packed weights are shared with other processes, and who packed them.
std::string shared_weights_text(const client::PrepareStats& stats) {
  if (stats.shared_weight_bytes == 0) return "";
  return str_cat("; weights shared, ", human_bytes(static_cast<double>(stats.shared_weight_bytes)), ", ",
                 stats.weights_found ? "packed by another process" : "packed now");
}

void print_text(const RunFlags& flags, const client::PreparedPlan& plan, const ReplayTimes& times,
                const std::vector<WrittenOutput>& outputs, const KernelProfile* profile) {
  const client::PrepareStats& stats = plan.stats();
  print_summary(flags.path, " on ", plan.device(), ", ", counted(static_cast<std::uint64_t>(plan.threads()), "thread"));
  print_summary("prepared in ", human_time(stats.prepare_ms * 1e3), ": ", counted(stats.kernels, "kernel"), ", ",
                stats.compiled_kernels, " compiled now", shared_weights_text(stats));
  if (times.replays == 1) {
    print_summary("replay ", human_time(times.p50), ", the first: --repeat measures warm ones");
  } else {
    print_summary("replay p50 ", human_time(times.p50), ", min ", human_time(times.min), ", p99 ",
                  human_time(times.p99), " over ", times.replays, profile == nullptr ? "" : " warm replays");
  }
  for (const WrittenOutput& output : outputs) {
    print_summary("output ", output.name, " ", dtype_name(output.dtype), shape_text(output.shape),
                  output.file.empty() ? "" : " -> " + output.file);
  }
  for (const WrittenOutput& output : outputs) {
    if (!output.difference) continue;
    print_line("output ", output.name,
               std::isfinite(*output.difference)
                   ? str_cat(" differs from what f32 weights give by ", percent_text(*output.difference),
                             " of its largest value")
                   : " has another shape than f32 weights give, or only one of the two is finite");
  }
  if (profile != nullptr) print_table(profile_table(*profile));
}

// What each kernel is for only the daemon can tell, of a model; a plan file does not say.
std::vector<KernelRow> rows_of(const PreparedModel& prepared, const client::PrepareConfig& config,
                               const ExplainWish& wish, const KernelTimes& times) {
  if (prepared.model.traced.graph.nodes_size() > 0) {
    const absl::StatusOr<v1::ExplainResponse> explained = explain_model(prepared.model, config, wish);
    if (explained.ok() && explained->plan_key() == prepared.plan.stats().plan_key)
      return kernel_rows(*explained, wish.values);
    note("kernels are shown without the nodes that they come from: ",
         explained.ok() ? "the daemon has another plan by now" : explained.status().message());
  }
  std::vector<KernelRow> rows;
  for (const runtime::PlanKernel& kernel : loaded_plan(prepared.plan).plan().kernels) {
    KernelRow& row = rows.emplace_back();
    row.place = static_cast<std::uint32_t>(rows.size() - 1);
    row.symbol = kernel.symbol;
    row.ops = static_cast<double>(kernel.num_ops);
  }
  for (const KernelTime& time : times.kernels) {  // on average, where launches differ
    if (time.launches > 0) rows[time.kernel].ops = time.ops / static_cast<double>(time.launches);
  }
  return rows;
}

absl::StatusOr<KernelProfile> profile_of(const RunFlags& flags, const PreparedModel& prepared,
                                         client::Instance& instance) {
  HEARTH_ASSIGN_OR_RETURN(KernelTimes times, measure_kernels(instance, prepared.plan, std::max(flags.repeat, 5)));
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig config, flags.model.prepare_config());
  ExplainWish wish;
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, variable_values(prepared.model, flags.vars));
  wish.values = std::move(values);
  std::vector<KernelRow> rows = rows_of(prepared, config, wish, times);
  KernelProfile profile{std::move(rows), std::move(times), speed_of(prepared.plan)};
  add_times(profile.times, &profile.rows);
  return profile;
}

absl::StatusOr<PreparedModel> load(const RunFlags& flags) {
  if (!flags.is_plan && !client::is_plan_file(flags.path)) {
    if (!flags.parameters.empty()) {
      return usage_error("--parameters ", flags.parameters[0], ": ", flags.path,
                         " is a model, which has its parameters; only plan files may be without");
    }
    return prepare_model(flags.path, flags.model);
  }
  // A model from elsewhere must not turn out to be a program.
  if (!flags.is_plan && !flags.path.ends_with(".hearth")) {
    return absl::InvalidArgumentError(str_cat(
        flags.path,
        ": this is a plan file, machine code of whoever wrote it, and not a model; if you would run that person's "
        "programs, name it *.hearth or give --plan"));
  }
  HEARTH_ASSIGN_OR_RETURN(PlanOfFile loaded, load_plan_of(flags.path, flags.model, flags.parameters));
  return PreparedModel{std::move(loaded.model), std::move(loaded.plan)};
}

absl::StatusOr<int> run(RunFlags& flags) {
  if (flags.compares && (flags.model.weights == onnx::Weights::kF32 || client::is_plan_file(flags.path))) {
    return usage_error("--compare-f32: give a model and --weights bf16 or int8, whose outputs are to be compared");
  }
  HEARTH_ASSIGN_OR_RETURN(PreparedModel prepared, load(flags));
  HEARTH_ASSIGN_OR_RETURN(Expected named, read_expected(flags.expect, prepared.model.imported, prepared.model.files));
  Expected expected = std::move(named);
  expected.insert(prepared.model.expected.begin(), prepared.model.expected.end());
  Span instantiating("instantiate", "client");
  HEARTH_ASSIGN_OR_RETURN(client::Instance instance, prepared.plan.instantiate());
  instantiating.end();
  HEARTH_RETURN_IF_ERROR(set_variables(instance, prepared.plan, prepared.model, flags.vars));
  HEARTH_ASSIGN_OR_RETURN(const auto random, fill_inputs(instance, prepared.plan, prepared.model, flags.seed));
  std::vector<double> times;
  for (int i = 0; i < flags.repeat; ++i) {
    const Span span("replay", "replay");
    const auto start = std::chrono::steady_clock::now();
    HEARTH_RETURN_IF_ERROR(instance.execute());
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  HEARTH_ASSIGN_OR_RETURN(const auto results, read_results(instance, prepared.model.imported));
  if (flags.trace.is_wanted()) {
    HEARTH_RETURN_IF_ERROR(trace_kernels(instance, prepared.plan.device()));
    flags.trace.pause();
  }
  HEARTH_ASSIGN_OR_RETURN(auto outputs, write_outputs(results, prepared.model, flags.output_dir));
  const std::vector<Comparison> comparisons =
      compare(expected, prepared.model.imported, results, flags.expect.tolerance);
  if (flags.compares) {
    HEARTH_ASSIGN_OR_RETURN(const auto differences,
                            differences_from_f32(flags.path, flags.model, flags.vars, prepared, instance));
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].difference = differences[i];
  }
  std::optional<KernelProfile> profile;
  if (flags.profile) {
    HEARTH_ASSIGN_OR_RETURN(KernelProfile profiled, profile_of(flags, prepared, instance));
    profile = std::move(profiled);
    times = profile->times.replays_us;  // the first replays were cold
  }
  const KernelProfile* shown = profile ? &*profile : nullptr;
  if (flags.model.json) {
    const onnx::Weights form = flags.model.weights;
    const Json weights = form == onnx::Weights::kF32 ? Json() : weights_json(form, prepared.model.imported.weights);
    print_as_json(prepared.plan, summarize(times), outputs, random, weights, shown, comparisons);
  } else {
    note_random_inputs(random, flags.seed);
    print_text(flags, prepared.plan, summarize(times), outputs, shown);
  }
  bool is_right = true;
  for (const Comparison& comparison : comparisons) {
    is_right &= comparison.is_right();
    if (!flags.model.json) print_line(comparison.text());
  }
  return is_right ? 0 : 1;
}

// Each set of test data is a run of its own: its arrays may have other lengths.
absl::StatusOr<int> run_all(RunFlags& flags) {
  const ExpectFlags& expect = flags.expect;
  if (expect.arrays.empty() && expect.test_data.empty() && (expect.tolerance.rtol || expect.tolerance.atol))
    return usage_error(expect.tolerance.rtol ? "--rtol" : "--atol", ": there is nothing to compare; give --expect");
  if (expect.test_data.empty()) return run(flags);
  if (client::is_plan_file(flags.path))
    return refuse_plan_file(flags.path,
                            "--test-data names values by their place in the model; give --input and --expect");
  const absl::StatusOr<std::vector<std::string>> sets = onnx::find_test_data(expect.test_data);
  if (!sets.ok()) return absl::Status(sets.status().code(), str_cat("--test-data ", sets.status().message()));
  if (sets->size() > 1 && flags.model.json)
    return usage_error("--test-data ", expect.test_data, " has ", sets->size(), " sets; with --json give one of them");
  int worst = 0;
  for (const std::string& set : *sets) {
    flags.model.test_data = set;
    if (sets->size() > 1 && !flags.model.json) print_line(set);
    flags.trace.go_on();
    HEARTH_ASSIGN_OR_RETURN(const int ended, run(flags));
    worst = std::max(worst, ended);
  }
  return worst;
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
                    {"hearth run model.onnx --profile", "Shows what the time of a replay is spent on."},
                    {"hearth run model.onnx --trace trace.json", "Writes what was done when, for ui.perfetto.dev."},
                    {"hearth run model.onnx --weights bf16 --compare-f32",
                     "Stores weights in half of the bytes, and says what that changes."},
                    {"hearth run model.onnx --input x=x.npy --expect y=y.npy --rtol 1e-4",
                     "Says whether the output is what it should be, and exits with 1 if it is not."},
                    {"hearth run resnet/model.onnx --test-data resnet",
                     "The same by the arrays that came with a model."},
                    {"hearth run model.hearth --parameters model.onnx",
                     "Runs a plan that was exported without weights."},
                    {"curl -s https://example.org/model.onnx | hearth run -", "Runs a model from a pipe."}},
       .exit_statuses = {{1, "An output is not what --expect or --test-data says, or the model cannot be run."}}});
  add_input_file(*command, "model", flags->path, "ONNX file, or plan file of hearth export")->required();
  flags->model.add_to(*command, /*with_inputs=*/true);
  add_repeated(*command, "--var", flags->vars,
               "Value of a variable that --dim NAME=MIN:MAX made; else it follows from the arrays given")
      ->type_name("NAME=N")
      ->each(unique_name("--var"));
  add_repeated(*command, "--parameters", flags->parameters,
               "Weights of a plan file that was exported without: safetensors, or the ONNX model it was made of")
      ->type_name("FILE");
  command->add_option("--output-dir", flags->output_dir, "Write every output as NAME.npy into this folder")
      ->type_name("FOLDER")
      ->check(not_empty());
  command->add_option("--repeat", flags->repeat, "Replays to measure; with --profile at least so many")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of the random values of inputs that are not given")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  command->add_flag("--plan", flags->is_plan,
                    "The model is a plan file, whatever its name: machine code of whoever wrote it, which is run");
  command->add_flag("--compare-f32", flags->compares,
                    "With --weights: run with f32 weights, too, and print how far the outputs are from each other");
  flags->expect.add_to(*command);
  command->add_flag("--profile", flags->profile,
                    "Show the time of every kernel, over warm replays, and what it is limited by");
  flags->trace.add_to(*command);
  command->callback([flags, &action] {
    action = [flags] { return traced(flags->trace, "hearth run", [flags] { return run_all(*flags); }); };
  });
}

}  // namespace hearth::cli
