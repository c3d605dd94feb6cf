// The digits model of examples/, Silero VAD and workloads (tests/models).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "client/trace/encoded_graph.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/v1/graph.pb.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;
using Ints64 = std::vector<std::int64_t>;

namespace {

std::filesystem::path source_dir() {
  const char* dir = std::getenv("HEARTH_SOURCE_DIR");
  return dir == nullptr ? std::filesystem::current_path() : std::filesystem::path(dir);
}

}  // namespace

TEST_CASE("digits imports with its held-out images") {
  const auto folder = source_dir() / "examples" / "digits";
  const auto model = import_model((folder / "digits.onnx").string());
  INFO(error_of(model));
  REQUIRE(model.ok());
  const auto images = client::read_npy((folder / "digits_images.npy").string());
  const auto labels = client::read_npy((folder / "digits_labels.npy").string());
  REQUIRE(images.ok());
  REQUIRE(labels.ok());
  CHECK(images->shape == model->inputs.at(0).shape);
  CHECK(images->dtype == model->inputs.at(0).dtype);
  CHECK(model->results.at(0).shape == Ints64{images->shape[0], 10});
  CHECK(labels->shape == Ints64{images->shape[0]});
  CHECK(images->shape[0] >= 360);
  CHECK(client::encode_graph(model->outputs).ok());
}

TEST_CASE("Silero VAD imports with every If resolved") {
  const auto path = test::model_file("silero_vad_16k_op15.onnx");
  if (path.empty()) SKIP_CASE(test::no_model("silero_vad_16k_op15.onnx"));
  const auto model = import_model(path.string(), {.input_shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}}});
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results.at(0).shape == Ints64{1, 1});
  CHECK(model->results.at(1).shape == Ints64{2, 1, 128});
  CHECK(model->inputs.size() == 3);
  const auto traced = client::encode_graph(model->outputs);
  REQUIRE(traced.ok());
  // Weight slices and concatenations are folded on the host: nothing but movement of computed values is left.
  CHECK(traced->graph.nodes_size() < 300);
}

TEST_CASE("every workload imports") {
  const auto folder = test::made_models() / "bench";
  int imported = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    ImportOptions options;
    if (entry.path().string().find("dynamic") != std::string::npos) options.dims = {{"batch", 3}, {"time", 37}};
    const auto model = import_model(entry.path().string(), options);
    INFO(entry.path() << ": " << error_of(model));
    REQUIRE(model.ok());
    CHECK(client::encode_graph(model->outputs).ok());
    ++imported;
  }
  CHECK(imported > 10);
}
