#include "client/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/checks.h"
#include "client/cli/connect.h"
#include "client/cli/print.h"
#include "client/jit/request.h"
#include "client/onnx/dim_expression.h"
#include "command_line/nearest.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"

namespace hearth::cli {
namespace {

const std::map<std::string, onnx::Weights> kWeights = {
    {"f32", onnx::Weights::kF32}, {"bf16", onnx::Weights::kBf16}, {"int8", onnx::Weights::kInt8}};

// CLI11's: empty where it is well.
std::string device_error(const std::string& list) {
  const absl::StatusOr<std::vector<std::string>> names = client::device_names(list);
  if (!names.ok()) return std::string(names.status().message());
  const auto unknown = std::ranges::find_if_not(*names, runtime::is_device_name);
  if (unknown == names->end()) return "";
  std::vector<std::string> kinds, forms;
  for (const runtime::Driver* const driver : runtime::drivers()) {
    kinds.emplace_back(driver->name());
    for (const std::string& form : driver->forms()) forms.push_back(form);
  }
  const std::string meant = command_line::nearest(*unknown, kinds);
  return str_cat("'", *unknown, "' is no device; expected ", absl::StrJoin(forms, ", "),
                 meant.empty() ? "" : str_cat("; did you mean ", meant, "?"));
}

absl::StatusOr<std::vector<std::int64_t>> parse_values(const std::string& text) {
  std::vector<std::int64_t> values;
  const std::vector<std::string> words = absl::StrSplit(text, ',');
  for (const std::string& word : words) {
    std::int64_t& value = values.emplace_back();
    if (!absl::SimpleAtoi(word, &value)) return absl::InvalidArgumentError(str_cat("'", word, "' is no number"));
    if (values.size() > 1 && value <= values[values.size() - 2])
      return absl::InvalidArgumentError(str_cat(value, " stands behind ", values[values.size() - 2],
                                                "; write lengths in ascending order, each once"));
  }
  return values;
}

// N, MIN:MAX, N,N,... (the range up to the last in parts that end at these) or MIN:MAX@N,N,... (these for themselves).
absl::StatusOr<onnx::DimRange> parse_range(const std::string& whole) {
  const std::size_t at = whole.find('@');
  const std::string text = whole.substr(0, at);
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos && at == std::string::npos && text.find(',') != std::string::npos) {
    HEARTH_ASSIGN_OR_RETURN(std::vector<std::int64_t> ends, parse_values(text));
    if (ends.front() < 0) return absl::InvalidArgumentError(str_cat(ends.front(), " is no length"));
    const std::int64_t least = std::min<std::int64_t>(1, ends.front()), greatest = ends.back();
    return onnx::DimRange(least, greatest, {.ends = std::move(ends)});
  }
  if (at != std::string::npos) {
    absl::StatusOr<onnx::DimRange> range =
        colon == std::string::npos ? absl::InvalidArgumentError("no MIN:MAX stands before '@'") : parse_range(text);
    HEARTH_RETURN_IF_ERROR(range.status());
    HEARTH_ASSIGN_OR_RETURN(std::vector<std::int64_t> points, parse_values(whole.substr(at + 1)));
    for (const std::int64_t point : points) {
      if (point < range->min || point > range->max)
        return absl::InvalidArgumentError(str_cat(point, " lies outside of ", text));
    }
    range->parts.points = std::move(points);
    return range;
  }
  std::int64_t least = 0, greatest = 0;
  if (!absl::SimpleAtoi(text.substr(0, colon), &least)) {
    return absl::InvalidArgumentError(str_cat(
        "'", text, "' is neither a number nor MIN:MAX, N,N,..., MIN:MAX@N,N,... or an expression of other dimensions"));
  }
  if (colon == std::string::npos) return onnx::DimRange(least);
  const std::size_t second = text.find(':', colon + 1);
  std::int64_t unit = 1;
  const bool is_range =
      absl::SimpleAtoi(text.substr(colon + 1, second == std::string::npos ? second : second - colon - 1), &greatest) &&
      (second == std::string::npos || absl::SimpleAtoi(text.substr(second + 1), &unit));
  if (!is_range) return absl::InvalidArgumentError(str_cat("'", text, "' is not MIN:MAX or MIN:MAX:STEP"));
  if (unit < 1 || least % unit != 0 || greatest % unit != 0)
    return absl::InvalidArgumentError(str_cat(least, " and ", greatest, " are no multiples of ", unit));
  onnx::DimRange range(least, greatest);
  range.unit = unit;
  return range;
}

// A scalar, or with brackets a list, of integers where all of them are, else of f64; true and false are 1 and 0.
absl::StatusOr<client::Array> parse_constant(const std::string& text) {
  const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  std::vector<std::string> words = {text};
  if (is_list) words = absl::StrSplit(text.substr(1, text.size() - 2), ',');
  if (is_list && text.size() == 2) words.clear();
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool all_integers = true;
  for (const std::string& word : words) {
    const std::string element(absl::StripAsciiWhitespace(word));
    std::int64_t integer = element == "true" ? 1 : 0;
    double real = 0;
    if (element == "true" || element == "false" || absl::SimpleAtoi(element, &integer)) {
      real = static_cast<double>(integer);
    } else if (absl::SimpleAtod(element, &real) && std::isfinite(real)) {
      all_integers = false;
    } else {
      return absl::InvalidArgumentError(
          str_cat("'", element, "' is no number; expected a number, true, false, or a list such as [1,16]"));
    }
    integers.push_back(integer);
    reals.push_back(real);
  }
  std::vector<std::int64_t> shape;
  if (is_list) shape.push_back(static_cast<std::int64_t>(words.size()));
  return all_integers ? client::array_of(integers, shape) : client::array_of(reals, shape);
}

}  // namespace

std::optional<onnx::Weights> weights_named(const std::string& form) {
  const auto found = kWeights.find(form);
  return found == kWeights.end() ? std::nullopt : std::optional(found->second);
}

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
  add_import_to(command, with_inputs);
  add_connection_to(command, threads_flag);
}

void ModelFlags::add_import_to(CLI::App& command, bool with_inputs) {
  add_repeated(
      command, "--dim", dims,
      "Length of a symbolic dimension of the model, or its bounds NAME=MIN:MAX. NAME=1,4,8 compiles the range up to "
      "8 in parts that end at 1, 4 and 8; NAME=1:8@1,4 the range, and 1 and 4 for themselves: one plan has all. "
      "NAME=32:960:32 takes multiples of 32 only. "
      "NAME=past+seq is a length that follows from others")
      ->type_name("NAME=N")
      ->each(unique_name("--dim"));
  add_repeated(
      command, "--const", consts,
      "Value of an input that decides what the model computes (a branch, a shape, a number of steps), which is "
      "prepared for that value alone: a number, true, false, or a list such as [1,16]")
      ->type_name("NAME=VALUE")
      ->each(unique_name("--const"));
  if (with_inputs) {
    add_repeated(command, "--input", inputs,
                 "Array for an input: a .npy file (- is standard input), or raw bytes as FILE:TYPE:2x3, for types such "
                 "as bfloat16 "
                 "and int4 (packed, as in ONNX files) that .npy has no name for. Others get seeded random values")
        ->type_name("NAME=FILE")
        ->each(unique_name("--input"));
  }
  command
      .add_option_function<std::string>(
          "--weights", [this](const std::string& form) { weights = kWeights.at(form); },
          "What weights are stored as, f32, bf16 or int8: narrow ones are read faster and cost accuracy, which is said")
      ->type_name("FORM")
      ->check(CLI::IsMember(std::vector<std::string>{"f32", "bf16", "int8"}));
}

void ModelFlags::add_connection_to(CLI::App& command, Threads threads_flag) {
  command
      .add_option(
          "--device", device,
          "Where to run: cpu, vulkan, cuda, hip, one of several as vulkan:N or vulkan:UUID (hearth devices lists "
          "them), or the first of several that can: cuda,cpu (a software device after cpu); null computes nothing. "
          "Without it "
          "HEARTH_DEVICE, else cpu")
      ->type_name("DEVICE")
      ->check(CLI::Validator(device_error, "{cpu,null,vulkan,cuda,hip}"));
  if (threads_flag == Threads::kOne) {
    command.add_option("--threads", threads, "Threads of a replay; 0: every CPU. Without it HEARTH_THREADS, else 0")
        ->type_name("N")
        ->check(CLI::Range(0, kMaxThreads));
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
  command
      .add_option_function<std::string>(
          "--subnormals", [this](const std::string& name) { subnormals = subnormals_from_name(name); },
          "Floats below 1.2e-38, with which CPUs are slow: keep them; results: zero where one would result and for "
          "weights that "
          "are only multiplied and added; all: operands, too. Without it HEARTH_SUBNORMALS, else results")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"keep", "results", "all"}));
  command.add_flag_function(
      "--sealed,!--no-sealed", [this](std::int64_t count) { sealed = count > 0; },
      "Compile nothing: what is not in the cache is an error that says what is missing. Without it HEARTH_SEALED, else "
      "not");
  add_socket_to(command, socket);
  command
      .add_option("--timeout", timeout_s,
                  "Seconds until preparing is given up; what was compiled is kept. Without it "
                  "HEARTH_PREPARE_TIMEOUT_MS, else 120")
      ->type_name("SECONDS")
      ->check(number_in(0.001, 86400.0));
  add_json_to(command, json);
}

void ModelFlags::add_carry_to(CLI::App& command) {
  add_repeated(command, "--carry", carried,
               "An output that the next run takes as this input, such as a cache of keys that grows: the plan of a "
               "process that asks for the same (PrepareConfig::carried)")
      ->type_name("OUTPUT=INPUT")
      ->each(unique_name("--carry"));
}

absl::StatusOr<client::PrepareConfig> ModelFlags::prepare_config() const {
  absl::StatusOr<client::PrepareConfig> config = client::PrepareConfig::from_env();
  HEARTH_RETURN_IF_ERROR(config.status());
  config->socket = socket;
  if (device) config->device = *device;
  // 0 in a configuration leaves it to HEARTH_THREADS; a flag does not.
  if (threads) config->threads = *threads == 0 ? runtime::available_cpus() : *threads;
  if (opt_level) config->opt_level = *opt_level;
  if (fast_math) config->fast_math = *fast_math;
  if (direct_convolutions) config->direct_convolutions = *direct_convolutions;
  if (subnormals) config->subnormals = subnormals;
  if (sealed) config->sealed = *sealed;
  for (const std::string& text : carried) {
    HEARTH_ASSIGN_OR_RETURN(const auto names, split_flag("--carry", text, "OUTPUT=INPUT"));
    config->carried.push_back({names.first, names.second});
  }
  if (timeout_s) config->deadline = std::chrono::milliseconds(std::llround(*timeout_s * 1000));
  return config;
}

absl::Status ModelFlags::add_dims_to(onnx::ImportOptions& options) const {
  for (const std::string& text : dims) {
    HEARTH_ASSIGN_OR_RETURN(
        auto flag,
        split_flag("--dim", text, "NAME=N, NAME=MIN:MAX, NAME=N,N,..., NAME=MIN:MAX@N,N,... or NAME=EXPRESSION"));
    const auto range = parse_range(flag.second);
    if (range.ok()) {
      options.dims.insert_or_assign(flag.first, *range);
    } else if (onnx::is_dim_expression(flag.second)) {
      options.dim_expressions.insert_or_assign(flag.first, flag.second);
    } else {
      return usage_error("--dim ", text, ": ", range.status().message());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<onnx::ImportOptions> ModelFlags::import_options() const {
  onnx::ImportOptions options;
  HEARTH_RETURN_IF_ERROR(add_dims_to(options));
  options.weights = weights;
  for (const std::string& text : consts) {
    HEARTH_ASSIGN_OR_RETURN(const auto flag, split_flag("--const", text, "NAME=VALUE"));
    auto value = parse_constant(flag.second);
    if (!value.ok()) return usage_error("--const ", text, ": ", value.status().message());
    options.constants.insert_or_assign(flag.first, *std::move(value));
  }
  return options;
}

}  // namespace hearth::cli
