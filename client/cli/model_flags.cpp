#include "client/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "client/cli/format.h"
#include "client/elements.h"
#include "runtime/text.h"

namespace hearth::cli {
namespace {

absl::StatusOr<std::pair<std::string, std::string>> split_flag(const std::string& flag, const std::string& text,
                                                               const std::string& form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(str_cat(flag, " ", text, ": expected ", form));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

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

}  // namespace

void ModelFlags::add_to(CLI::App& command, bool with_inputs) {
  command.add_option("--dim", dims, "Length of a symbolic dimension: NAME=N")->take_all();
  if (with_inputs) {
    command.add_option("--input", inputs, "Array for an input: NAME=FILE.npy (others get seeded uniform values)")
        ->take_all();
  }
  add_connection_to(command);
}

void ModelFlags::add_connection_to(CLI::App& command) {
  command.add_option("--device", device, "cpu, or null (computes nothing)")->capture_default_str();
  command.add_option("--threads", threads, "Threads of a replay; 0: every CPU")->capture_default_str();
  command.add_option("--socket", socket, "The daemon's socket (default: HEARTH_SOCKET, else the user's own)");
  command.add_option("--timeout", timeout_s, "Seconds until preparing is given up")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command.add_flag("--json", json, "Print JSON");
}

client::PrepareConfig ModelFlags::prepare_config() const {
  client::PrepareConfig config;
  config.socket = socket;
  config.device = device;
  config.threads = threads;
  config.deadline = std::chrono::milliseconds(std::llround(timeout_s * 1000));
  return config;
}

absl::StatusOr<Model> load_model(const std::string& path, const ModelFlags& flags) {
  Model model;
  onnx::ImportOptions options;
  for (const std::string& text : flags.dims) {
    auto flag = split_flag("--dim", text, "NAME=N");
    if (!flag.ok()) return flag.status();
    std::int64_t length = 0;
    if (!absl::SimpleAtoi(flag->second, &length)) {
      return absl::InvalidArgumentError(str_cat("--dim ", text, ": '", flag->second, "' is not a number"));
    }
    options.dims[flag->first] = length;
  }
  for (const std::string& text : flags.inputs) {
    auto flag = split_flag("--input", text, "NAME=FILE.npy");
    if (!flag.ok()) return flag.status();
    auto array = client::read_npy(flag->second);
    if (!array.ok()) return array.status();
    options.input_shapes[flag->first] = array->shape;
    model.arrays.insert_or_assign(flag->first, *std::move(array));
  }
  auto imported = onnx::import_model(path, options);
  if (!imported.ok()) return imported.status();
  model.imported = *std::move(imported);
  if (absl::Status checked = match_arrays(path, model); !checked.ok()) return checked;
  auto traced = client::encode_graph(model.imported.outputs);
  if (!traced.ok())
    return absl::Status(traced.status().code(), str_cat(path, ": ", std::string(traced.status().message())));
  model.traced = *std::move(traced);
  return model;
}

std::string uniform_bytes(const onnx::ModelValue& value, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (unsigned char c : value.name) state = (state ^ c) * 0x100000001b3U;
  std::string bytes;
  bytes.reserve(value.bytes());
  const std::size_t elements = value.bytes() / dtype_bytes(value.dtype);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t random = next_random(state);
    if (is_float(value.dtype)) {
      bytes += client::encode_float(static_cast<double>(random >> 40) / (1 << 24), value.dtype);
    } else {
      const std::uint64_t below = value.dtype == DType::kBool ? 2 : 10;
      bytes += client::encode_integer(static_cast<std::int64_t>((random >> 33) % below), value.dtype);
    }
  }
  return bytes;
}

}  // namespace hearth::cli
