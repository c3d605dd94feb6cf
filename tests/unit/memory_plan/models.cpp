#include "tests/unit/memory_plan/models.h"

#include <algorithm>

#include "client/trace/encoded_graph.h"
#include "tests/support/model_files.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Shapes of the models that leave some open.
std::vector<ModelCase> cases_of(const fs::path& path) {
  const std::string name = path.stem().string();
  if (name == "silero_vad_16k_op15")
    return {{name, path, {.dims = {}, .input_shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}}}}};
  if (name == "silero_vad")  // both branches of its If on the value of `sr` are computed: a length that suits both
    return {{name, path, {.dims = {{"input.0", 1}, {"input.1", 256}, {"state.1", 1}}, .input_shapes = {}}}};
  if (name == "conformer_d256_h4_t256_dynamic") {
    std::vector<ModelCase> cases;
    for (auto [batch, time] : {std::pair{1, 100}, std::pair{1, 256}, std::pair{3, 37}}) {
      cases.push_back({name + " " + std::to_string(batch) + "x" + std::to_string(time),
                       path,
                       {.dims = {{"batch", batch}, {"time", time}}, .input_shapes = {}}});
    }
    return cases;
  }
  return {{name, path, {}}};
}

void add_folder(const fs::path& folder, std::vector<ModelCase>& cases) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    for (ModelCase& model : cases_of(entry.path())) cases.push_back(std::move(model));
  }
}

}  // namespace

std::vector<ModelCase> model_cases(const fs::path& source_dir) {
  std::vector<ModelCase> cases;
  add_folder(source_dir / "examples" / "digits", cases);
  add_folder(test::made_models(), cases);
  add_folder(test::made_models() / "bench", cases);
  std::ranges::sort(cases, {}, &ModelCase::name);
  return cases;
}

std::vector<std::string> models_left_out() {
  if (!fs::exists(test::made_models() / "silero_vad.onnx")) return {test::no_model("silero_vad.onnx")};
  return {};
}

absl::StatusOr<v1::Graph> traced(const ModelCase& model) {
  absl::StatusOr<onnx::ImportedModel> imported = onnx::import_model(model.path.string(), model.options);
  if (!imported.ok()) return imported.status();
  absl::StatusOr<client::EncodedGraph> traced = client::encode_graph(imported->outputs);
  if (!traced.ok()) return traced.status();
  return std::move(traced->graph);
}

}  // namespace hearth
