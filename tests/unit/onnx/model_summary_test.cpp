// What a model says about itself without being imported.
#include "client/onnx/model_summary.h"

#include <catch2/catch.hpp>

#include "client/onnx/model_file.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::onnx;

namespace {

ModelSummary summary_of(ModelBuilder& m) {
  const auto model = parse_model(m.proto().SerializeAsString(), "m.onnx");
  INFO(model.status().message());
  REQUIRE(model.ok());
  return summarize(*model);
}

}  // namespace

TEST_CASE("a model's inputs, outputs, parameters and operators are listed from the file alone") {
  ModelBuilder body(17);
  body.node("Relu", {"x"}, {"r"}).output("r");
  ModelBuilder m(17);
  m.proto().set_producer_name("torch");
  m.proto().set_producer_version("2.1");
  m.symbolic_input("x", {"batch", "", "batch"}).input("c", {}, ::hearth_onnx::TensorProto::BOOL).input("w", {3});
  m.floats("w", {3}, {1, 2, 3}).ints("s", {2}, {4, 5}).node("Relu", {"x"}, {"a"}).node("If", {"c"}, {"b"});
  m.attr_graph("then_branch", body).attr_graph("else_branch", body);
  m.node("StringNormalizer", {"a"}, {"d"}).output("b");
  auto* text = m.proto().mutable_graph()->add_input();
  text->set_name("text");
  text->mutable_type()->mutable_tensor_type()->set_elem_type(::hearth_onnx::TensorProto::STRING);

  const ModelSummary summary = summary_of(m);
  CHECK(summary.producer == "torch 2.1");
  CHECK(summary.opsets == std::map<std::string, std::int64_t>{{"", 17}});
  REQUIRE(summary.inputs.size() == 4);
  CHECK(summary.inputs[0].type == "f32");
  REQUIRE(summary.inputs[0].shape.size() == 3);
  CHECK((summary.inputs[0].shape[0].length < 0 && summary.inputs[0].shape[0].name == "batch"));
  CHECK(summary.inputs[0].shape[1].name == "x.1");
  CHECK((summary.inputs[1].type == "bool" && summary.inputs[1].has_shape && summary.inputs[1].shape.empty()));
  CHECK((summary.inputs[2].has_default && !summary.inputs[0].has_default));
  CHECK((summary.inputs[3].type == "string" && !summary.inputs[3].has_shape));
  CHECK(summary.symbolic_dims == std::vector<std::string>{"batch", "x.1"});
  REQUIRE(summary.outputs.size() == 1);
  CHECK(summary.outputs[0].name == "b");
  REQUIRE(summary.parameters.count("f32") == 1);
  CHECK((summary.parameters.at("f32").count == 1 && summary.parameters.at("f32").bytes == 12));
  CHECK((summary.parameters.at("i64").count == 1 && summary.parameters.at("i64").bytes == 16));
  CHECK(summary.num_nodes == 5);
  REQUIRE(summary.operators.size() == 3);
  CHECK(
      (summary.operators[1].name == "Relu" && summary.operators[1].count == 3 && summary.operators[1].missing.empty()));
  CHECK((summary.operators[2].name == "StringNormalizer" && !summary.operators[2].missing.empty()));
  CHECK(summary.refused.empty());
}

TEST_CASE("a model of an unknown opset still says what it is") {
  ModelBuilder m(99);
  m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  const ModelSummary summary = summary_of(m);
  CHECK(summary.opsets.at("") == 99);
  CHECK(summary.operators.size() == 1);
  CHECK(summary.refused.find("opset 99") != std::string::npos);
}
