// Flags that every subcommand with a model shares. What is not given comes from the environment, as for the SDK
// (client::PrepareConfig::from_env); a flag wins. Errors: status naming flag or variable.
//
//   ModelFlags flags;
//   flags.add_to(*command, /*with_inputs=*/true);
//   absl::StatusOr<client::PrepareConfig> config = flags.prepare_config();
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "proto/target_limits.h"

namespace hearth::cli {

inline constexpr int kMaxThreads = kMaxTargetThreads;

struct ModelFlags {
  std::vector<std::string> dims;     // NAME=N, NAME=MIN:MAX, NAME=N,N..., NAME=MIN:MAX@N,N...
  std::vector<std::string> inputs;   // NAME=FILE.npy
  std::vector<std::string> consts;   // NAME=VALUE
  std::vector<std::string> carried;  // OUTPUT=INPUT
  std::string test_data;             // a folder whose arrays are inputs that --input does not give
  onnx::Weights weights = onnx::Weights::kF32;
  std::optional<std::string> device;
  std::optional<int> threads;  // 0: every CPU
  std::optional<std::uint32_t> opt_level;
  std::optional<bool> fast_math, direct_convolutions, sealed;
  std::optional<Subnormals> subnormals;
  std::optional<double> timeout_s;
  std::string socket;
  bool json = false;

  enum class Threads { kOne, kOwn };  // kOwn: the command has a --threads flag of its own
  // `with_inputs`: --input is a flag of this command.
  void add_to(CLI::App& command, bool with_inputs, Threads threads = Threads::kOne);
  // The flags about the model alone: what it is imported with.
  void add_import_to(CLI::App& command, bool with_inputs);
  // The flags about the daemon and the plan alone.
  void add_connection_to(CLI::App& command, Threads threads = Threads::kOne);

  // --carry, for commands that prepare what others run.
  void add_carry_to(CLI::App& command);

  absl::StatusOr<client::PrepareConfig> prepare_config() const;
  // The lengths of --dim.
  absl::Status add_dims_to(onnx::ImportOptions& options) const;
  // What an ONNX model is imported with: --dim, --const and --weights.
  absl::StatusOr<onnx::ImportOptions> import_options() const;
};

// "f32", "bf16" or "int8"; nothing for others.
std::optional<onnx::Weights> weights_named(const std::string& form);

// A flag that takes one value each time it is given, as often as one likes: it never swallows what follows.
CLI::Option* add_repeated(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                          const std::string& help);

// A list: its values with commas between, or the flag given several times.
template <typename T>
CLI::Option* add_list(CLI::App& command, const std::string& flag, std::vector<T>& values, const std::string& help) {
  return command.add_option(flag, values, help)->allow_extra_args(false)->delimiter(',')->take_all();
}

// NAME=VALUE as text and its two parts; `form` is what the error says was expected.
absl::StatusOr<std::pair<std::string, std::string>> split_flag(const std::string& flag, const std::string& text,
                                                               const std::string& form);

}  // namespace hearth::cli
