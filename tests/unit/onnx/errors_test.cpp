// What the importer says about models it cannot take: file, node, operator, opset and the thing at fault.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "tests/unit/onnx/model_builder.h"

using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

ModelBuilder one_node(const std::string& op, int opset = 17) {
  ModelBuilder m(opset);
  m.input("x", {2, 3}).node(op, {"x"}, {"y"}, "n1").output("y");
  return m;
}

}  // namespace

TEST_CASE("an output that is declared with another type than the graph computes is refused") {
  ModelBuilder m = one_node("Relu");
  ::hearth_onnx::TypeProto::Tensor& declared =
      *m.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  declared.set_elem_type(::hearth_onnx::TensorProto::INT64);
  CHECK_THAT(error_of(m.import()), Contains("output 'y' is declared as i64, but the graph computes f32") &&
                                       Contains("export the model again"));
  declared.set_elem_type(::hearth_onnx::TensorProto::FLOAT);
  CHECK(m.import().ok());
  declared.clear_elem_type();
  CHECK(m.import().ok());
}

TEST_CASE("an output that is declared with another shape than the graph computes is imported, with a warning") {
  ModelBuilder m = one_node("Relu");
  ::hearth_onnx::TensorShapeProto& declared =
      *m.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  const auto warnings = [&m] {
    const auto model = m.import();
    REQUIRE(model.ok());
    return model->warnings;
  };
  declared.add_dim()->set_dim_value(7);
  CHECK(warnings() == std::vector<std::string>{"output 'y' is declared as [7], but the graph computes [2, 3]"});
  declared.add_dim()->set_dim_param("n");
  CHECK(warnings() == std::vector<std::string>{"output 'y' is declared as [7, n], but the graph computes [2, 3]"});
  declared.mutable_dim(0)->set_dim_value(2);
  CHECK(warnings().empty());
  declared.mutable_dim(0)->set_dim_value(-1);
  CHECK(warnings().empty());
}

TEST_CASE("what is wrong with a node is said without the importer's own source") {
  ModelBuilder m(17);
  m.input("x", {1, 3, 4, 4}).node("MaxPool", {"x"}, {"y"}, "p").output("y");
  auto* window = m.proto().mutable_graph()->mutable_node(0)->add_attribute();
  window->set_name("kernel_shape");
  window->set_type(::hearth_onnx::AttributeProto::INTS);
  window->add_ints(9);
  window->add_ints(9);
  const std::string error = error_of(m.import());
  CHECK_THAT(error,
             Contains("node 'p' (operator MaxPool, opset 17): max_pool: ") && !Contains(".cpp") && !Contains("(at "));
}

TEST_CASE("an unknown operator is named with node, file and opset") {
  const auto model = one_node("FancyNewOp").import();
  REQUIRE(model.status().code() == absl::StatusCode::kUnimplemented);
  CHECK(error_of(model) == "test.onnx: node 'n1' (operator FancyNewOp, opset 17): this operator is not supported");
}

TEST_CASE("an operator outside its opsets says which are known") {
  CHECK_THAT(error_of(one_node("LayerNormalization", 15).import()), Contains("opsets 17 to 28; opset 15"));
  CHECK_THAT(error_of(one_node("Mish", 17).import()), Contains("opsets 18 to 28; opset 17"));
}

TEST_CASE("an operator of another domain is named with it") {
  ModelBuilder m = one_node("Gelu");
  m.last().set_domain("com.microsoft");
  CHECK_THAT(error_of(m.import()), Contains("com.microsoft::Gelu") && Contains("n1"));
}

TEST_CASE("opsets outside 1 to 28 are refused by number") {
  CHECK_THAT(error_of(one_node("Relu", 0).import()), Contains("opset 0") && Contains("1 to 28"));
  CHECK_THAT(error_of(one_node("Relu", 29).import()), Contains("opset 29") && Contains("onnx.version_converter"));
}

TEST_CASE("what older opsets mean otherwise is not guessed") {
  CHECK_THAT(error_of(one_node("Unsqueeze", 11).import()), Contains("axes are missing"));
  CHECK_THAT(error_of(one_node("Slice", 9).import()), Contains("starts or ends are missing"));
  CHECK_THAT(error_of(one_node("Pad", 10).import()), Contains("pads are missing"));
  ModelBuilder add(6);
  add.input("x", {2, 3}).input("b", {2}).node("Add", {"x", "b"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(add.import()), Contains("shapes [2, 3] and [2] differ"));
  CHECK_THAT(error_of(add.attr("broadcast", 1).attr("axis", 2).import()), Contains("axis 2 does not place [2]"));
  ModelBuilder normalise(6);
  normalise.input("x", {1, 2, 3});
  for (const char* name : {"s", "b", "m", "v"}) normalise.input(name, {2});
  normalise.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(normalise.import()), Contains("is_test"));
  ModelBuilder axes_as_input(11);
  axes_as_input.input("x", {2, 3}).ints("axes", {1}, {0}).node("Unsqueeze", {"x", "axes"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(axes_as_input.import()), Contains("axes) is an input from opset 13 on; opset 11"));
  for (const auto& [op, opset] : {std::pair("Squeeze", 12), {"Split", 12}, {"Slice", 9}, {"ReduceMean", 17}}) {
    ModelBuilder later(opset);
    later.input("x", {1, 2}).ints("i", {1}, {0}).node(op, {"x", "i"}, {"y"}, "n1").output("y");
    INFO(op);
    CHECK_THAT(error_of(later.import()), Contains("input 1 (") && Contains("gives it as an attribute"));
  }
  ModelBuilder bound(10);
  bound.input("x", {2}).floats("low", {}, {0}).node("Clip", {"x", "low"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(bound.import()), Contains("is an input from opset 11 on"));
  ModelBuilder sum(6);
  sum.input("x", {2, 3}).input("b", {3}).node("Sum", {"x", "b"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(sum.import()), Contains("shapes [2, 3] and [3] differ"));
  ModelBuilder gemm(6);
  gemm.input("a", {2, 3}).input("b", {3, 4}).input("c", {4}).node("Gemm", {"a", "b", "c"}, {"y"}, "n1").output("y");
  CHECK_THAT(error_of(gemm.import()), Contains("broadcast is 0"));
}

TEST_CASE("a model without standard operators says so") {
  ModelBuilder m = one_node("Relu");
  m.proto().mutable_opset_import(0)->set_domain("ai.onnx.preview.training");
  CHECK_THAT(error_of(m.import()), Contains("opset_import"));
}

TEST_CASE("an attribute nobody reads is an error") {
  ModelBuilder m = one_node("Relu");
  m.attr("surprise", 1);
  CHECK_THAT(error_of(m.import()), Contains("attribute 'surprise'") && Contains("n1"));
}

TEST_CASE("an attribute of the wrong type is an error") {
  ModelBuilder m = one_node("Softmax");
  m.attr_text("axis", "last");
  CHECK_THAT(error_of(m.import()), Contains("'axis' has the wrong type"));
}

TEST_CASE("shape errors name the node") {
  ModelBuilder m(13);
  m.input("x", {2, 3}).floats("w", {4, 5}, std::vector<float>(20)).node("MatMul", {"x", "w"}, {"y"}, "mm").output("y");
  CHECK_THAT(error_of(m.import()), Contains("'mm' (operator MatMul, opset 13)") && Contains("matmul"));
}

TEST_CASE("undefined, doubly defined and missing names are errors") {
  ModelBuilder undefined(13);
  undefined.input("x", {2}).node("Add", {"x", "ghost"}, {"y"}).output("y");
  CHECK_THAT(error_of(undefined.import()), Contains("'ghost'"));
  ModelBuilder twice(13);
  twice.input("x", {2}).node("Relu", {"x"}, {"x"}).output("x");
  CHECK_THAT(error_of(twice.import()), Contains("'x' is defined twice"));
  ModelBuilder no_output(13);
  no_output.input("x", {2}).node("Relu", {"x"}, {"y"}).output("z");
  CHECK_THAT(error_of(no_output.import()), Contains("'z'"));
  ModelBuilder empty(13);
  empty.input("x", {2});
  CHECK_THAT(error_of(empty.import()), Contains("no outputs"));
}

TEST_CASE("symbolic dimensions ask for --dim, and wrong --dim names list the right ones") {
  ModelBuilder m(13);
  m.symbolic_input("x", {"batch", ""}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK_THAT(error_of(m.import()), Contains("'batch' (input 'x', axis 0), 'x.1' (input 'x', axis 1) have no length") &&
                                       Contains("--dim batch=N --dim x.1=N"));
  const std::string one_left = error_of(m.import({.dims = {{"batch", 2}}}));
  CHECK_THAT(one_left, Contains("--dim x.1=N") && !Contains("batch"));
  const auto model = m.import({.dims = {{"batch", 2}, {"x.1", 5}}});
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == std::vector<std::int64_t>{2, 5});
  CHECK_THAT(error_of(m.import({.dims = {{"batch", 2}, {"x.1", 5}, {"bach", 3}}})),
             Contains("--dim bach=3") && Contains("batch, x.1"));
  CHECK_THAT(error_of(m.import({.dims = {{"batch", -2}, {"x.1", 5}}})), Contains("-2"));
  const auto shaped = m.import({.input_shapes = {{"x", {4, 7}}}});
  REQUIRE(shaped.ok());
  CHECK(shaped->inputs[0].shape == std::vector<std::int64_t>{4, 7});
  CHECK_THAT(error_of(m.import({.dims = {{"batch", 2}}, .input_shapes = {{"x", {4, 7}}}})), Contains("'batch' is 2"));
  CHECK_THAT(error_of(m.import({.input_shapes = {{"x", {4}}}})), Contains("2 axes"));
  CHECK_THAT(error_of(m.import({.input_shapes = {{"w", {4}}}})), Contains("no input 'w'") && Contains("x"));
}

TEST_CASE("initializers with the wrong amount of data, strings or external data are errors") {
  ModelBuilder m(13);
  m.input("x", {2}).floats("w", {3}, {1, 2}).node("Add", {"x", "w"}, {"y"}).output("y");
  CHECK_THAT(error_of(m.import()), Contains("'w'") && Contains("12 bytes") && Contains("has 8"));
  auto* tensor = m.proto().mutable_graph()->mutable_initializer(0);
  tensor->set_data_type(::hearth_onnx::TensorProto::STRING);
  CHECK_THAT(error_of(m.import()), Contains("string"));
  tensor->set_data_type(::hearth_onnx::TensorProto::FLOAT);
  tensor->set_data_location(::hearth_onnx::TensorProto::EXTERNAL);
  CHECK_THAT(error_of(m.import()), Contains("'w' is external but names no file"));
  tensor->clear_data_location();
  tensor->clear_dims();
  tensor->add_dims(std::int64_t{1} << 40);
  tensor->add_dims(std::int64_t{1} << 40);
  CHECK_THAT(error_of(m.import()), Contains("too many elements"));
  tensor->set_dims(0, -1);
  CHECK_THAT(error_of(m.import()), Contains("negative"));
}

TEST_CASE("an If without its branches is an error naming node and branch") {
  ModelBuilder m(13);
  m.input("c", {}, ::hearth_onnx::TensorProto::BOOL).node("If", {"c"}, {"y"}, "branch").output("y");
  CHECK_THAT(error_of(m.import()), Contains("'branch' (operator If") && Contains("'then_branch' is missing"));
}

TEST_CASE("garbage and truncated files are refused with the path") {
  CHECK_THAT(error_of(import_model("no/such/file.onnx")), Contains("no/such/file.onnx"));
  CHECK_THAT(error_of(import_model_bytes("", "e.onnx")), Contains("e.onnx is not an ONNX model"));
  CHECK_THAT(error_of(import_model_bytes("hello, I am text", "t.onnx")), Contains("t.onnx is not an ONNX model"));
  ModelBuilder m = one_node("Relu");
  const std::string bytes = m.proto().SerializeAsString();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(import_model_bytes(bytes.substr(0, length), "cut.onnx").ok());
  }
}

TEST_CASE("flipped bytes never crash the importer") {
  ModelBuilder m(17);
  m.input("x", {1, 2, 5, 5})
      .floats("w", {3, 2, 3, 3}, std::vector<float>(54, 0.5F))
      .ints("shape", {2}, {1, -1})
      .node("Conv", {"x", "w"}, {"c"})
      .attr("pads", {1, 1, 1, 1})
      .node("Reshape", {"c", "shape"}, {"r"})
      .node("Softmax", {"r"}, {"y"})
      .attr("axis", -1)
      .output("y");
  REQUIRE(m.import().ok());
  const std::string bytes = m.proto().SerializeAsString();
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string altered = bytes;
    for (int k = 0; k < 3; ++k) altered[random() % altered.size()] = static_cast<char>(random());
    refused += import_model_bytes(altered, "fuzz.onnx").ok() ? 0 : 1;
  }
  CHECK(refused > 100);
}

TEST_CASE("strings are read by casts to numbers alone") {
  const auto model = [](const std::string& text, const std::string& op, int to) {
    ModelBuilder m(17);
    m.input("x", {1}).node(op, {"text"}, {"y"}).node("Identity", {"x"}, {"z"}).output("z");
    if (to != 0) m.proto().mutable_graph()->mutable_node(0)->add_attribute();
    if (to != 0) {
      ::hearth_onnx::AttributeProto* attribute = m.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0);
      attribute->set_name("to");
      attribute->set_type(::hearth_onnx::AttributeProto::INT);
      attribute->set_i(to);
    }
    ::hearth_onnx::TensorProto* initializer = m.proto().mutable_graph()->add_initializer();
    initializer->set_name("text");
    initializer->set_data_type(::hearth_onnx::TensorProto::STRING);
    initializer->add_dims(1);
    initializer->add_string_data(text);
    return m;
  };
  using ::hearth_onnx::TensorProto;
  CHECK(model("1.5", "Cast", TensorProto::FLOAT).output("y").import().ok());
  CHECK(model("-inf", "Cast", TensorProto::FLOAT).output("y").import().ok());
  CHECK(folded(*model("-7", "Cast", TensorProto::INT64).output("y").import(), 1) == std::vector<std::int64_t>{-7});
  CHECK_THAT(error_of(model("one", "Cast", TensorProto::FLOAT).output("y").import()), Contains("'one' is no f32"));
  CHECK_THAT(error_of(model("300", "Cast", TensorProto::UINT8).output("y").import()), Contains("'300' is no u8"));
  CHECK(absl::IsUnimplemented(model("one", "Relu", 0).output("y").import().status()));
  CHECK(model("one", "Relu", 0).import().ok());  // read by nothing that an output needs
  ModelBuilder short_of = model("1", "Cast", TensorProto::FLOAT).output("y");
  short_of.proto().mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  CHECK_THAT(error_of(short_of.import()), Contains("has 1 strings"));
}
