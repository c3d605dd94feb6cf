// Flags that every subcommand with a model shares, and what they lead to: the imported model, its encoded graph, the
// contents of its inputs. Errors: status naming flag or file.
//
//   ModelFlags flags;
//   flags.add_to(*command);
//   absl::StatusOr<Model> model = load_model("model.onnx", flags);
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/jit.h"
#include "client/npy.h"
#include "client/onnx/importer.h"

namespace CLI {
class App;
}

namespace hearth::cli {

struct ModelFlags {
  std::vector<std::string> dims;    // NAME=N, NAME=MIN:MAX
  std::vector<std::string> inputs;  // NAME=FILE.npy
  std::string device = "cpu";
  std::string socket;
  int threads = 0;
  double timeout_s = 120;
  bool json = false;

  // `with_inputs`: --input is a flag of this command.
  void add_to(CLI::App& command, bool with_inputs);
  // Those about the daemon and the plan alone.
  void add_connection_to(CLI::App& command);
  client::PrepareConfig prepare_config() const;
};

struct Model {
  onnx::ImportedModel imported;
  client::TracedGraph traced;
  std::map<std::string, client::Array> arrays;  // of --input
};

absl::StatusOr<Model> load_model(const std::string& path, const ModelFlags& flags);
// Inputs, results and arrays for a plan that was loaded from `path`; nothing is traced.
absl::StatusOr<Model> model_of(const client::PreparedPlan& plan, const std::string& path, const ModelFlags& flags);

// NAME=VALUE as text and its two parts; `form` is what the error says was expected.
absl::StatusOr<std::pair<std::string, std::string>> split_flag(const std::string& flag, const std::string& text,
                                                               const std::string& form);

// Seeded uniform values: floats in [0, 1), integers in [0, 10), bool. The same for one seed and name everywhere.
std::string uniform_bytes(const std::string& name, DType dtype, std::size_t elements, std::uint64_t seed);

}  // namespace hearth::cli
