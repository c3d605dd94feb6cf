// Operators in the meaning of opsets before 7, on the reference interpreter. ONNX's own cases hold none of them.
#include <catch2/catch.hpp>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Floats = std::vector<float>;

namespace {

Floats run_old(const ModelBuilder& model, const std::map<std::string, Array>& inputs) {
  return elements(first_result(model, inputs));
}

const Array kX = array_of({2, 3}, {1, 2, 3, 4, 5, 6});

}  // namespace

TEST_CASE("opset 1: operands broadcast from an axis on, and consumed_inputs says nothing") {
  ModelBuilder m(1);
  m.input("x", {2, 3}).floats("b", {2}, {10, 20}).node("Mul", {"x", "b"}, {"y"});
  m.attr("broadcast", 1).attr("axis", 0).attr("consumed_inputs", {0, 0}).output("y");
  CHECK(run_old(m, {{"x", kX}}) == Floats{10, 20, 30, 80, 100, 120});
}

TEST_CASE("opset 1: comparisons broadcast from an axis on") {
  ModelBuilder m(1);
  m.input("x", {2, 3}).floats("b", {2}, {2, 5}).node("Greater", {"x", "b"}, {"g"}).attr("broadcast", 1).attr("axis", 0);
  m.node("Cast", {"g"}, {"y"}).attr_text("to", "FLOAT").output("y");
  CHECK(run_old(m, {{"x", kX}}) == Floats{0, 0, 1, 0, 0, 1});
}

TEST_CASE("opset 1: Reshape, Concat, Tile, Split and Pad give by attribute what became inputs") {
  ModelBuilder m(1);
  m.input("x", {2, 3}).ints("two", {}, {2}).ints("axis", {}, {1}).floats("parts", {2}, {4, 8});
  m.node("Concat", {"x", "x"}, {"c"});                                 // [2, 6]: axis 1 by default
  m.node("Tile", {"c", "two", "axis"}, {"t"});                         // [2, 12]
  m.node("Split", {"t", "parts"}, {"first", "rest"}).attr("axis", 1);  // [2, 4]
  m.node("Pad", {"first"}, {"p"}).attr("paddings", {0, 0, 0, 1}).attr_real("value", 9);
  m.node("Reshape", {"p"}, {"y"}).attr("shape", {5, -1}).output("y");
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == std::vector<std::int64_t>{5, 2});
  CHECK(run_old(m, {{"x", kX}}) == Floats{1, 2, 3, 1, 9, 4, 5, 6, 4, 9});
}

TEST_CASE("opset 5: Selu has shorter constants") {
  ModelBuilder m(5);
  m.input("x", {1}).node("Selu", {"x"}, {"y"}).output("y");
  CHECK(run_old(m, {{"x", array_of({1}, {1000})}})[0] == Approx(1050.7).epsilon(1e-7));
}

TEST_CASE("opset 6: batch normalisation by position, and dropout in a test") {
  ModelBuilder m(6);
  m.input("x", {2, 3});
  m.floats("s", {3}, {1, 2, 3}).floats("b", {3}, {0, 1, 0}).floats("m", {3}, {1, 1, 1}).floats("v", {3}, {1, 1, 4});
  m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"}).attr("spatial", 0).attr("is_test", 1);
  m.attr_real("epsilon", 0).node("Dropout", {"n"}, {"y"}).attr("is_test", 1).output("y");
  CHECK(run_old(m, {{"x", kX}}) == Floats{0, 3, 3, 3, 9, 7.5});
  m.last().mutable_attribute(0)->set_i(0);
  CHECK_THAT(error_of(m.import()), Catch::Contains("drops elements at random"));
}
