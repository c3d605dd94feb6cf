#include <catch2/catch.hpp>

#include "client/trace/encoded_graph.h"
#include "hearth/ops.h"
#include "proto/versions.h"

using namespace hearth;
using namespace hearth::client;

namespace {

const std::vector<float> kEncodedWeights(12, 0.5f);

Tensor small_net(bool noisy) {
  std::vector<Tensor> noise;
  auto distract = [&] {
    if (noisy) noise.push_back(exp(input("noise" + std::to_string(noise.size()), {3}, DType::kF32)));
  };
  const Dim n = Dim::variable("n", 1, 64);
  distract();
  const Tensor w = parameter("w", {4, 3}, DType::kF32, bytes_of(kEncodedWeights));
  distract();
  const Tensor x = input("x", {n, 4}, DType::kF32);
  Tensor y = relu(matmul(x, w) + 1.0);
  distract();
  y = softmax(y);
  return y + relu(matmul(x, w) + 1.0);  // recorded twice, sent once
}

std::string bytes_of_graph(v1::Graph graph) {
  graph.clear_provenance();
  return graph.SerializeAsString();
}

}  // namespace

TEST_CASE("equal graphs encode to equal bytes whatever was recorded around them") {
  absl::StatusOr<EncodedGraph> plain = encode_graph({{"y", small_net(false)}});
  absl::StatusOr<EncodedGraph> noisy = encode_graph({{"y", small_net(true)}});
  REQUIRE(plain.ok());
  REQUIRE(noisy.ok());
  CHECK(bytes_of_graph(plain->graph) == bytes_of_graph(noisy->graph));
  CHECK(plain->graph.SerializeAsString() == noisy->graph.SerializeAsString());
}

TEST_CASE("a graph holds what its outputs need, in topological order, each node once") {
  absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", small_net(true)}});
  REQUIRE(traced.ok());
  const v1::Graph& graph = traced->graph;
  CHECK(graph.version() == kGraphVersion);
  REQUIRE(graph.vars_size() == 1);
  CHECK(graph.vars(0).name() == "n");
  CHECK(graph.vars(0).max() == 64);
  int products = 0;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    for (std::uint32_t input : graph.nodes(i).inputs()) CHECK(input < static_cast<std::uint32_t>(i));
    products += graph.nodes(i).op() == v1::MATMUL;
    CHECK(graph.nodes(i).name().find("noise") == std::string::npos);
  }
  CHECK(products == 1);
  CHECK(graph.outputs(0).node() == static_cast<std::uint32_t>(graph.nodes_size() - 1));
  REQUIRE(traced->parameters.count("w"));
  CHECK(traced->parameters.at("w").data == kEncodedWeights.data());
  CHECK(graph.ByteSizeLong() < 4096);
  CHECK(graph.provenance_size() == graph.nodes_size());
  CHECK_THAT(graph.provenance(0).text(), Catch::Contains("encoder_test.cpp:"));
}

TEST_CASE("operands on the wire agree in shape and dtype") {
  const Tensor x = input("x", {2, 3}, DType::kF16), b = input("b", {3}, DType::kF32);
  absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", x + b}});
  REQUIRE(traced.ok());
  const v1::Node& add = traced->graph.nodes(traced->graph.nodes_size() - 1);
  CHECK(add.op() == v1::ADD);
  CHECK(traced->graph.nodes(static_cast<int>(add.inputs(0))).op() == v1::CAST);
  CHECK(traced->graph.nodes(static_cast<int>(add.inputs(1))).op() == v1::EXPAND);
}

TEST_CASE("what cannot be encoded is refused by name") {
  const Tensor x = input("x", {2}, DType::kF32);
  auto message = [](const absl::StatusOr<EncodedGraph>& traced) { return std::string(traced.status().message()); };
  CHECK_THAT(message(encode_graph({})), Catch::Contains("at least one output"));
  CHECK_THAT(message(encode_graph({{"y", x}, {"y", x}})), Catch::Contains("two outputs are named 'y'"));
  CHECK_THAT(message(encode_graph({{"y", Tensor()}})), Catch::Contains("output 'y' is an empty tensor"));
  CHECK_THAT(message(encode_graph({{"y", x + input("x", {1}, DType::kF32)}})), Catch::Contains("the name 'x'"));
  CHECK_THAT(message(encode_graph({{"a", input("a", {Dim::variable("n", 0, 1)}, DType::kF32)},
                                   {"b", input("b", {Dim::variable("n", 0, 2)}, DType::kF32)}})),
             Catch::Contains("variable 'n' has bounds"));
  const std::vector<float> one(2), two(2);
  CHECK_THAT(message(encode_graph({{"y", parameter("w", {2}, DType::kF32, bytes_of(one)) +
                                             parameter("w", {2}, DType::kF32, bytes_of(two))}})),
             Catch::Contains("hold different bytes"));
}

TEST_CASE("names that no message can carry are refused by name, and what is only told is made one that can") {
  const auto message = [](const absl::StatusOr<EncodedGraph>& traced) {
    return std::string(traced.status().message());
  };
  const Tensor x = input("x", {2}, DType::kF32);
  CHECK(message(encode_graph({{"a\xff", x}})) == "output 'a\xff': its name is not UTF-8; rename it");
  CHECK(message(encode_graph({{"y", input("\xc3(", {2}, DType::kF32)}})) ==
        "input '\xc3(': its name is not UTF-8; rename it");
  CHECK(message(encode_graph({{"y", input("x", {Dim::variable("\xed\xa0\x80", 1, 4)}, DType::kF32)}})) ==
        "variable '\xed\xa0\x80': its name is not UTF-8; rename it");
  const ScopedLocation here("ONNX node 'a\xff b'");
  const absl::StatusOr<EncodedGraph> traced = encode_graph({{"выход", exp(x)}});
  REQUIRE(traced.ok());
  v1::Graph graph;
  CHECK(graph.ParseFromString(traced->graph.SerializeAsString()));
  bool seen = false;
  for (const v1::Provenance& provenance : traced->graph.provenance()) {
    seen |= provenance.text().find("ONNX node 'a\xef\xbf\xbd b'") != std::string::npos;
  }
  CHECK(seen);
}
