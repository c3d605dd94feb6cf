// A user's line or ONNX node is named by the compiler's errors and stands beside each kernel, fused, packed or shared.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "client/trace/encoded_graph.h"
#include "compiler/compile.h"
#include "hearth/ops.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"
#include "tests/support/x86_target.h"
#include "tests/unit/bounds/plan_kernels.h"
#include "tests/unit/memory_plan/models.h"
#include "tests/unit/onnx/model_builder.h"

namespace hearth {
namespace {

using namespace client;
using onnx::ModelBuilder;
using test::lowered;

v1::Graph traced(const client::NamedTensors& outputs) {
  absl::StatusOr<client::EncodedGraph> graph = client::encode_graph(outputs);
  INFO(graph.status());
  REQUIRE(graph.ok());
  return std::move(graph->graph);
}

v1::Graph traced(const ModelBuilder& builder) {
  const absl::StatusOr<onnx::ImportedModel> model = builder.import();
  INFO(model.status());
  REQUIRE(model.ok());
  return traced(model->outputs);
}

std::string refusal(const v1::Graph& graph) {
  const absl::StatusOr<v1::LoweredPlan> plan = compiler::lower(graph, test::x86_target(256), {});
  CHECK(absl::IsInvalidArgument(plan.status()));
  return std::string(plan.status().message());
}

// "SYMBOL: source" of every kernel.
std::vector<std::string> sources(const v1::LoweredPlan& plan) {
  REQUIRE(plan.kernel_sources_size() == plan.kernels_size());
  std::vector<std::string> list;
  for (int k = 0; k < plan.kernels_size(); ++k) {
    list.push_back(plan.kernels(k).symbol() + ": " + plan.kernel_sources(k));
  }
  return list;
}

std::string line_of(int line) { return "provenance/provenance_test.cpp:" + std::to_string(line); }

std::vector<float> numbers(std::size_t count) { return std::vector<float>(count, 0.5F); }

TEST_CASE("C++ lines stand beside a fused kernel, each of them") {
  Tensor x = input("x", {8, 16}, DType::kF32), w = input("w", {16, 24}, DType::kF32);
  const int product = __LINE__ + 1;
  Tensor y = matmul(x, w);
  const int bias = __LINE__ + 1;
  y = y + input("b", {24}, DType::kF32);
  const int activation = __LINE__ + 1;
  y = relu(y);
  const std::vector<std::string> kernels = sources(lowered(traced({{"y", y}}), 256));
  REQUIRE(kernels.size() == 1);
  for (const int line : {product, bias, activation}) CHECK_THAT(kernels[0], Catch::Contains(line_of(line)));
}

TEST_CASE("a C++ line is named by the compiler's refusal") {
  const Tensor one = input("one", {1}, DType::kF64);
  const int line = __LINE__ + 1;
  const Tensor large = expand(one, {std::int64_t{1} << 40});
  const std::string text = refusal(traced({{"y", large}}));
  CHECK_THAT(text, Catch::StartsWith("node 1 (EXPAND) from "));
  CHECK_THAT(text, Catch::Contains(line_of(line)));
  // Of a value that is only stored on the way.
  const int stored = __LINE__ + 1;
  const Tensor sum = reduce_sum(contiguous(large), {0});
  CHECK_THAT(refusal(traced({{"y", sum}})), Catch::Contains(line_of(stored)));
}

TEST_CASE("ONNX nodes stand beside a fused kernel, each of them") {
  ModelBuilder model(17);
  model.input("x", {8, 16}).input("w", {16, 24}).input("b", {24});
  model.node("MatMul", {"x", "w"}, {"p"}, "product").node("Add", {"p", "b"}, {"s"}, "bias");
  model.node("Relu", {"s"}, {"y"}, "activation").output("y");
  const std::vector<std::string> kernels = sources(lowered(traced(model), 256));
  REQUIRE(kernels.size() == 1);
  for (const char* name : {"ONNX node 'product' (", "ONNX node 'bias' (", "ONNX node 'activation' ("}) {
    CHECK_THAT(kernels[0], Catch::Contains(name));
  }
}

TEST_CASE("an ONNX node is named by the compiler's refusal") {
  ModelBuilder model(17);
  model.input("x", {1}, ::hearth_onnx::TensorProto::DOUBLE).ints("shape", {1}, {std::int64_t{1} << 40});
  model.node("Expand", {"x", "shape"}, {"y"}, "enormous").output("y");
  CHECK_THAT(refusal(traced(model)), Catch::Contains("from ONNX node 'enormous' (Expand)"));
}

TEST_CASE("the node that most of a kernel's work is for stands first, whatever the names") {
  ModelBuilder model(17);
  model.input("x", {16, 16}).input("w", {16, 24}).input("b", {24});
  model.node("MatMul", {"x", "w"}, {"p"}, "z").node("Add", {"p", "b"}, {"s"}, "bias").node("Exp", {"s"}, {"y"}, "a");
  model.output("y");
  const v1::LoweredPlan product = lowered(traced(model), 256);
  REQUIRE(product.kernels_size() == 1);
  CHECK_THAT(product.kernel_sources(0), Catch::StartsWith("ONNX node 'z' (MatMul)"));
  // A kernel that is lowered once for two layers has the name of one of them.
  ModelBuilder layers(17);
  layers.input("x", {16, 16}).input("u", {16, 16}).input("v", {16, 16});
  layers.node("MatMul", {"x", "u"}, {"p"}, "y1").node("Relu", {"p"}, {"q"}, "a1");
  layers.node("MatMul", {"q", "v"}, {"r"}, "y2").node("Relu", {"r"}, {"y"}, "a2").output("y");
  const v1::LoweredPlan shared = lowered(traced(layers), 256);
  REQUIRE(shared.kernels_size() == 1);
  CHECK_THAT(shared.kernel_sources(0), Catch::StartsWith("ONNX node 'y"));
}

TEST_CASE("what packs an operand names the node that reads it") {
  const std::vector<float> weights = numbers(512 * 512);
  ModelBuilder model(17);
  model.input("x", {512, 512}).floats("w", {512, 512}, weights);
  model.node("MatMul", {"x", "w"}, {"y"}, "product").output("y");
  int packing = 0;
  for (const std::string& kernel : sources(lowered(traced(model), 256))) {
    INFO(kernel);
    CHECK_THAT(kernel, Catch::Contains("ONNX node 'product' (MatMul"));
    packing += kernel.find("_pack_") != std::string::npos ? 1 : 0;
  }
  CHECK(packing >= 1);
}

TEST_CASE("a kernel that several nodes share names all of them") {
  ModelBuilder model(17);
  model.input("x", {16, 16}).input("u", {16, 16}).input("v", {16, 16});
  model.node("MatMul", {"x", "u"}, {"p"}, "first").node("MatMul", {"p", "v"}, {"y"}, "second").output("y");
  const v1::LoweredPlan plan = lowered(traced(model), 256);
  REQUIRE(plan.kernels_size() == 1);
  REQUIRE(plan.plan().launches_size() == 2);
  CHECK_THAT(sources(plan)[0], Catch::Contains("'first'"));
  CHECK_THAT(sources(plan)[0], Catch::Contains("'second'"));
}

TEST_CASE("a kernel over lengths that vary names its own nodes, not all that have such lengths") {
  const Dim n = Dim::variable("n", 1, 64);
  const int product = __LINE__ + 1;
  const Tensor p = matmul(input("x", {n * 2 + 1, 16}, DType::kF32), input("w", {16, 24}, DType::kF32));
  const Tensor s = softmax(p);
  const int second = __LINE__ + 1;
  const Tensor y = matmul(s, input("v", {24, 8}, DType::kF32));
  std::size_t products = 0;
  for (const std::string& kernel : sources(lowered(traced({{"y", y}}), 256))) {
    INFO(kernel);  // a reader may name what it reads, as with lengths that are known
    const bool is_first = kernel.find(line_of(product)) != std::string::npos;
    const bool is_second = kernel.find(line_of(second)) != std::string::npos;
    CHECK_FALSE((is_first && is_second));
    products += is_first + is_second;
  }
  CHECK(products >= 2);
}

TEST_CASE("every kernel of every model names its ONNX nodes") {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  for (const std::string& reason : models_left_out()) test::skip_part(reason);
  for (const ModelCase& model : model_cases(source_dir)) {
    INFO(model.name);
    const absl::StatusOr<v1::Graph> graph = traced(model);
    REQUIRE(graph.ok());
    for (const std::string& kernel : sources(lowered(*graph, 512))) {
      INFO(model.name << ", " << kernel);
      CHECK_THAT(kernel, Catch::Contains("ONNX node '"));
      CHECK(kernel.find("node 0 (") == std::string::npos);
    }
  }
}

TEST_CASE("a graph without provenance is named by its nodes; provenance is no part of a plan") {
  conformance::GraphBuilder b;
  const conformance::Node x = b.input(v1::F32, {4, 5});
  b.output(b.op(v1::EXP, {x}));
  const v1::LoweredPlan bare = lowered(b.graph(), 256);
  CHECK_THAT(sources(bare)[0], Catch::Contains("node 1 (EXP)"));
  v1::Graph named = b.graph();
  named.add_provenance()->set_node(1);
  named.mutable_provenance(0)->set_text("model.py:7");
  const v1::LoweredPlan plan = lowered(named, 256);
  CHECK_THAT(sources(plan)[0], Catch::Contains("model.py:7"));
  CHECK(plan.plan().SerializeAsString() == bare.plan().SerializeAsString());
  CHECK(plan.kernels(0).ast() == bare.kernels(0).ast());
}

}  // namespace
}  // namespace hearth
