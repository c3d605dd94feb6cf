#include "client/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "client/cli/checks.h"
#include "client/cli/connect.h"
#include "client/cli/format.h"
#include "client/cli/print.h"
#include "client/elements.h"
#include "runtime/text.h"

namespace hearth::cli {
namespace {

// SplitMix64 (Steele et al. 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Every array in the dtype of its input, or an error.
absl::Status match_arrays(const std::string& path, Model& model) {
  for (const onnx::ModelValue& input : model.imported.inputs) {
    const auto found = model.arrays.find(input.name);
    if (found == model.arrays.end()) continue;
    const DType given = found->second.dtype;
    auto array = client::as_dtype(std::move(found->second), input.dtype);
    if (!array) {
      return absl::InvalidArgumentError(str_cat(path, ": input '", input.name, "' has type ", dtype_name(input.dtype),
                                                " but --input gives ", dtype_name(given)));
    }
    found->second = *std::move(array);
  }
  return absl::OkStatus();
}

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

absl::StatusOr<std::pair<std::string, std::string>> split_flag(const std::string& flag, const std::string& text,
                                                               const std::string& form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage_error(flag, " ", text, ": expected ", form);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

void ModelFlags::add_to(CLI::App& command, bool with_inputs) {
  command.add_option("--dim", dims, "Length of a symbolic dimension of the model, or its bounds NAME=MIN:MAX")
      ->type_name("NAME=N")
      ->take_all()
      ->each(unique_name("--dim"));
  if (with_inputs) {
    command.add_option("--input", inputs, "Array for an input; - is standard input. Others get seeded random values")
        ->type_name("NAME=FILE.npy")
        ->take_all()
        ->each(unique_name("--input"));
  }
  add_connection_to(command);
}

void ModelFlags::add_connection_to(CLI::App& command) {
  command.add_option("--device", device, "Where to run; null computes nothing")
      ->type_name("DEVICE")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "null"}))
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads of a replay; 0: HEARTH_THREADS, else every CPU")
      ->type_name("N")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  add_socket_to(command, socket);
  command.add_option("--timeout", timeout_s, "Seconds until preparing is given up; what was compiled is kept")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  add_json_to(command, json);
}

client::PrepareConfig ModelFlags::prepare_config() const {
  client::PrepareConfig config;
  config.socket = socket;
  config.device = device;
  config.threads = threads;
  config.deadline = std::chrono::milliseconds(std::llround(timeout_s * 1000));
  return config;
}

static absl::Status read_arrays(const ModelFlags& flags, Model& model) {
  for (const std::string& text : flags.inputs) {
    auto flag = split_flag("--input", text, "NAME=FILE.npy");
    if (!flag.ok()) return flag.status();
    auto array = client::read_npy(flag->second);
    if (!array.ok()) return array.status();
    model.arrays.insert_or_assign(flag->first, *std::move(array));
  }
  return absl::OkStatus();
}

absl::StatusOr<Model> load_model(const std::string& path, const ModelFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  Model model;
  onnx::ImportOptions options;
  for (const std::string& text : flags.dims) {
    auto flag = split_flag("--dim", text, "NAME=N or NAME=MIN:MAX");
    if (!flag.ok()) return flag.status();
    const auto range = parse_range(flag->second);
    if (!range.ok()) {
      return usage_error("--dim ", text, ": ", range.status().message());
    }
    options.dims.insert_or_assign(flag->first, *range);
  }
  if (absl::Status read = read_arrays(flags, model); !read.ok()) return read;
  for (const auto& [name, array] : model.arrays) options.input_shapes[name] = array.shape;
  auto imported = onnx::import_model(path, options);
  if (!imported.ok()) return imported.status();
  model.imported = *std::move(imported);
  if (absl::Status checked = match_arrays(path, model); !checked.ok()) return checked;
  auto traced = client::encode_graph(model.imported.outputs);
  if (!traced.ok())
    return absl::Status(traced.status().code(), str_cat(path, ": ", std::string(traced.status().message())));
  model.traced = *std::move(traced);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  print_detail(path, " was read and traced in ", human_time(time.count()));
  return model;
}

absl::StatusOr<Model> model_of(const client::PreparedPlan& plan, const std::string& path, const ModelFlags& flags) {
  Model model;
  if (!flags.dims.empty()) {
    return absl::InvalidArgumentError(
        str_cat("--dim ", flags.dims[0], ": the lengths of ", path, " were chosen when it was exported; see --var"));
  }
  const auto value = [](const client::ValueInfo& info) {
    return onnx::ModelValue{info.name, info.dtype, {info.max_shape.begin(), info.max_shape.end()}};
  };
  for (const client::ValueInfo& input : plan.inputs()) model.imported.inputs.push_back(value(input));
  for (const client::ValueInfo& output : plan.outputs()) {
    model.imported.results.push_back(value(output));
    model.imported.outputs.emplace_back(output.name, client::Tensor());
  }
  if (absl::Status read = read_arrays(flags, model); !read.ok()) return read;
  for (const auto& [name, array] : model.arrays) {
    const auto& inputs = model.imported.inputs;
    const auto same = [&](const onnx::ModelValue& input) { return input.name == name; };
    if (std::none_of(inputs.begin(), inputs.end(), same)) {
      return absl::InvalidArgumentError(str_cat(path, ": the plan has no input '", name, "'"));
    }
  }
  if (absl::Status checked = match_arrays(path, model); !checked.ok()) return checked;
  return model;
}

std::string uniform_bytes(const std::string& name, DType dtype, std::size_t elements, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (unsigned char c : name) state = (state ^ c) * 0x100000001b3U;
  std::string bytes;
  bytes.reserve(elements * dtype_bytes(dtype));
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t random = next_random(state);
    if (is_float(dtype)) {
      bytes += client::encode_float(static_cast<double>(random >> 40) / (1 << 24), dtype);
    } else {
      const std::uint64_t below = dtype == DType::kBool ? 2 : 10;
      bytes += client::encode_integer(static_cast<std::int64_t>((random >> 33) % below), dtype);
    }
  }
  return bytes;
}

}  // namespace hearth::cli
