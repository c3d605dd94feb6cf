#include "client/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "client/cli/checks.h"
#include "client/cli/connect.h"
#include "client/cli/print.h"
#include "runtime/cpu/cpu_target.h"
#include "runtime/text.h"

namespace hearth::cli {
namespace {

const std::map<std::string, onnx::Weights> kWeights = {
    {"f32", onnx::Weights::kF32}, {"bf16", onnx::Weights::kBf16}, {"int8", onnx::Weights::kInt8}};

absl::StatusOr<onnx::DimRange> parse_range(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::int64_t least = 0, greatest = 0;
  if (!absl::SimpleAtoi(text.substr(0, colon), &least)) {
    return absl::InvalidArgumentError(str_cat("'", text, "' is neither a number nor MIN:MAX"));
  }
  if (colon == std::string::npos) return onnx::DimRange(least);
  if (!absl::SimpleAtoi(text.substr(colon + 1), &greatest)) {
    return absl::InvalidArgumentError(str_cat("'", text, "' is not MIN:MAX"));
  }
  return onnx::DimRange(least, greatest);
}

}  // namespace

CLI::Option* add_repeated(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                          const std::string& help) {
  return command.add_option(flag, values, help)->allow_extra_args(false)->take_all();
}

absl::StatusOr<std::pair<std::string, std::string>> split_flag(const std::string& flag, const std::string& text,
                                                               const std::string& form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error(flag, " ", text, ": expected ", form);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

void ModelFlags::add_to(CLI::App& command, bool with_inputs, Threads threads_flag) {
  add_repeated(command, "--dim", dims, "Length of a symbolic dimension of the model, or its bounds NAME=MIN:MAX")
      ->type_name("NAME=N")
      ->each(unique_name("--dim"));
  if (with_inputs) {
    add_repeated(command, "--input", inputs, "Array for an input; - is standard input. Others get seeded random values")
        ->type_name("NAME=FILE.npy")
        ->each(unique_name("--input"));
  }
  command
      .add_option_function<std::string>(
          "--weights", [this](const std::string& form) { weights = kWeights.at(form); },
          "What weights are stored as, f32, bf16 or int8: narrow ones are read faster and cost accuracy, which is said")
      ->type_name("FORM")
      ->check(CLI::IsMember(std::vector<std::string>{"f32", "bf16", "int8"}));
  add_connection_to(command, threads_flag);
}

void ModelFlags::add_connection_to(CLI::App& command, Threads threads_flag) {
  command.add_option("--device", device, "Where to run; null computes nothing. Without it HEARTH_DEVICE, else cpu")
      ->type_name("DEVICE")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "null"}));
  if (threads_flag == Threads::kOne) {
    command.add_option("--threads", threads, "Threads of a replay; 0: every CPU. Without it HEARTH_THREADS, else 0")
        ->type_name("N")
        ->check(CLI::Range(0, kMostThreads));
  }
  command
      .add_option("--opt-level", opt_level,
                  "What LLVM does to kernels: 0 nothing, 1 what is cheap, 2 all. Without it HEARTH_OPT_LEVEL, else 2")
      ->type_name("N")
      ->check(CLI::Range(0, 2));
  command.add_flag_function(
      "--fast-math,!--no-fast-math", [this](std::int64_t count) { fast_math = count > 0; },
      "Allow rules that break NaN, -0 or infinity. Without it HEARTH_FAST_MATH, else not");
  command.add_flag_function(
      "--direct-convolutions,!--no-direct-convolutions",
      [this](std::int64_t count) { direct_convolutions = count > 0; },
      "Sum every window by itself: half the rounding error, slower. Without it HEARTH_DIRECT_CONVOLUTIONS, else not");
  add_socket_to(command, socket);
  command
      .add_option("--timeout", timeout_s,
                  "Seconds until preparing is given up; what was compiled is kept. Without it "
                  "HEARTH_PREPARE_TIMEOUT_MS, else 120")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0));
  add_json_to(command, json);
}

absl::StatusOr<client::PrepareConfig> ModelFlags::prepare_config() const {
  absl::StatusOr<client::PrepareConfig> config = client::PrepareConfig::from_env();
  if (!config.ok()) return config.status();
  config->socket = socket;
  if (device) config->device = *device;
  // 0 in a configuration leaves it to HEARTH_THREADS; a flag does not.
  if (threads) config->threads = *threads == 0 ? runtime::available_cpus() : *threads;
  if (opt_level) config->opt_level = *opt_level;
  if (fast_math) config->fast_math = *fast_math;
  if (direct_convolutions) config->direct_convolutions = *direct_convolutions;
  if (timeout_s) config->deadline = std::chrono::milliseconds(std::llround(*timeout_s * 1000));
  return config;
}

absl::StatusOr<std::map<std::string, onnx::DimRange>> ModelFlags::dim_ranges() const {
  std::map<std::string, onnx::DimRange> ranges;
  for (const std::string& text : dims) {
    auto flag = split_flag("--dim", text, "NAME=N or NAME=MIN:MAX");
    if (!flag.ok()) return flag.status();
    const auto range = parse_range(flag->second);
    if (!range.ok()) return usage_error("--dim ", text, ": ", range.status().message());
    ranges.insert_or_assign(flag->first, *range);
  }
  return ranges;
}

absl::StatusOr<onnx::ImportOptions> ModelFlags::import_options() const {
  auto ranges = dim_ranges();
  if (!ranges.ok()) return ranges.status();
  onnx::ImportOptions options;
  options.dims = *std::move(ranges);
  options.weights = weights;
  return options;
}

}  // namespace hearth::cli
