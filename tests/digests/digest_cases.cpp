#include "tests/digests/digest_cases.h"

#include <algorithm>
#include <filesystem>

#include "client/onnx/conformance.h"
#include "tests/bench/compile_time_graphs.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/unit/memory_plan/models.h"

namespace hearth::digests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOnnxCases = "/usr/share/libonnx-testdata/data";  // Debian's libonnx-testdata
constexpr int kNumRandomGraphs = 200;

DigestCase of_model(const std::string& group, const ModelCase& model) {
  return {group + "/" + model.name, [model] { return traced(model); }};
}

}  // namespace

std::vector<DigestCase> digest_cases(const std::string& source_dir, const std::string& nets_dir) {
  std::vector<DigestCase> cases;
  for (const ModelCase& model : model_cases(source_dir)) cases.push_back(of_model("models", model));
  if (fs::is_directory(kOnnxCases)) {
    for (const std::string& folder : onnx::find_cases(kOnnxCases)) {
      const fs::path model = fs::path(folder) / "model.onnx";
      if (!fs::exists(model)) continue;
      const fs::path name = fs::relative(folder, kOnnxCases);
      cases.push_back(of_model("onnx", {name.string(), model, {}}));
    }
  }
  for (int seed = 0; seed < kNumRandomGraphs; ++seed) {
    cases.push_back({"random/" + std::to_string(seed), [seed]() -> absl::StatusOr<v1::Graph> {
                       return conformance::random_graph(static_cast<std::uint64_t>(seed),
                                                        conformance::Palette::kBeforeScatter)
                           .graph;
                     }});
  }
  for (const int n : {1, 10, 100}) {
    for (const auto& [name, widths] :
         {std::pair{"equal", bench::Widths::kEqual}, {"distinct", bench::Widths::kDistinct}}) {
      cases.push_back({std::string("layers/") + name + " " + std::to_string(n),
                       [n, widths]() -> absl::StatusOr<v1::Graph> { return bench::repeated_layers(n, widths); }});
    }
  }
  if (nets_dir.empty()) return cases;
  std::vector<fs::path> nets;
  for (const auto& entry : fs::directory_iterator(nets_dir)) {
    if (entry.path().extension() == ".onnx") nets.push_back(entry.path());
  }
  std::ranges::sort(nets);
  for (const fs::path& net : nets) cases.push_back(of_model("nets", {net.stem().string(), net, {}}));
  return cases;
}

}  // namespace hearth::digests
