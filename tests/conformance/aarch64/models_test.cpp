// Whole models as they are compiled for AArch64, beside numpy's results and, of handwriting, what people read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "client/trace/encoded_graph.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "tests/conformance/aarch64/aarch64_runner.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

namespace fs = std::filesystem;

client::Array array_of(const fs::path& path) {
  absl::StatusOr<client::Array> array = client::read_npy(path.string());
  INFO(array.status().message());
  REQUIRE(array.ok());
  return *std::move(array);
}

// The results of a model on what `input` gives for its inputs' names.
Tensors run_model(const fs::path& path, const std::function<client::Array(const std::string& input)>& input) {
  const absl::StatusOr<onnx::ImportedModel> model = onnx::import_model(path.string());
  INFO(model.status().message());
  REQUIRE(model.ok());
  const absl::StatusOr<client::EncodedGraph> encoded = client::encode_graph(model->outputs);
  REQUIRE(encoded.ok());
  Feed feed;
  for (const v1::Node& node : encoded->graph.nodes()) {
    if (node.op() != v1::INPUT && node.op() != v1::PARAMETER) continue;
    HostTensor& tensor = feed.inputs.emplace_back();
    tensor.dtype = static_cast<ir::Scalar>(node.dtype());
    if (node.op() == v1::PARAMETER) {
      const client::ParameterData& data = encoded->parameters.at(node.name());
      const auto* bytes = static_cast<const std::uint8_t*>(data.data);
      tensor.bytes.assign(bytes, bytes + data.size);
    } else {
      const client::Array array = input(node.name());
      tensor.bytes.assign(array.bytes.begin(), array.bytes.end());
    }
  }
  Program program(encoded->graph, host_target());
  absl::StatusOr<Tensors> results = program.run(feed, Program::Execution::Compiled);
  INFO(results.status().message());
  REQUIRE(results.ok());
  return *std::move(results);
}

}  // namespace

TEST_CASE("models as they are compiled for AArch64 give numpy's results") {
  if (!aarch64_runner().ok()) SKIP_CASE(std::string(aarch64_runner().status().message()));
  const fs::path folder = test::made_models() / "bench";
  for (const std::string stem : {"tiny10_1K", "mlp_b64", "conv2d_3x3_64_56", "dwconv1d_k31_c512_t1024",
                                 "attention_h8_t512_d64", "conformer_d256_h4_t256"}) {
    INFO(stem);
    const Tensors results = run_model(folder / (stem + ".onnx"), [&](const std::string& input) {
      return array_of(folder / (stem + ".in." + input + ".npy"));
    });
    REQUIRE(results.size() == 1);
    const client::Array want = array_of(folder / (stem + ".out.out.npy"));
    const auto values = want.elements<float>();
    REQUIRE((values.ok() && std::ssize(*values) == results[0].num_elements()));
    double largest = 0, error = 0;
    for (std::int64_t i = 0; i < results[0].num_elements(); ++i) {
      const double wanted = (*values)[static_cast<std::size_t>(i)], apart = std::fabs(results[0].get(i).f - wanted);
      if (!(apart <= error)) error = apart;
      largest = std::max(largest, std::fabs(wanted));
    }
    std::printf("%s: differs by %.2g of its largest value\n", stem.c_str(), error / largest);
    CHECK(error <= 1e-5 * largest);
  }
}

TEST_CASE("the digits model as it is compiled for AArch64 reads handwriting") {
  if (!aarch64_runner().ok()) SKIP_CASE(std::string(aarch64_runner().status().message()));
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  const fs::path folder = fs::path(source_dir) / "examples" / "digits";
  const Tensors results =
      run_model(folder / "digits.onnx", [&](const std::string&) { return array_of(folder / "digits_images.npy"); });
  const client::Array labels = array_of(folder / "digits_labels.npy");
  const auto wanted = labels.elements<std::int64_t>();
  REQUIRE((wanted.ok() && results.size() == 1));
  const std::int64_t classes = results[0].num_elements() / std::ssize(*wanted);
  int right = 0;
  for (std::int64_t i = 0; i < std::ssize(*wanted); ++i) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (results[0].get(i * classes + c).f > results[0].get(i * classes + best).f) best = c;
    right += best == (*wanted)[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  std::printf("digits: %d of %td right\n", right, std::ssize(*wanted));
  CHECK(right == 395);  // as examples/digits/README.md says
}

}  // namespace hearth::conformance
