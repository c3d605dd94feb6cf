// Shape computations are folded while importing.
#include <catch2/catch.hpp>

#include "client/onnx/host_math.h"
#include "client/trace/encoded_graph.h"
#include "hearth/v1/graph.pb.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;
using Ints64 = std::vector<std::int64_t>;

namespace {

Ints64 fold(ModelBuilder& m) {
  const auto model = m.output("y").import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  return folded(*model);
}

}  // namespace

TEST_CASE("Shape, Gather, Concat, arithmetic") {
  ModelBuilder m(17);
  m.input("x", {2, 3, 4})
      .ints("one", {}, {1})
      .ints("minus", {1}, {-1})
      .ints("axes", {1}, {0})
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "one"}, {"d"})
      .node("Mul", {"d", "d"}, {"dd"})
      .node("Unsqueeze", {"dd", "axes"}, {"u"})
      .node("Concat", {"u", "minus", "s"}, {"y"})
      .attr("axis", 0);
  CHECK(fold(m) == Ints64{9, -1, 2, 3, 4});
}

TEST_CASE("Slice takes numpy bounds") {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    ModelBuilder m(13);
    m.ints("x", {5}, {0, 1, 2, 3, 4})
        .ints("b", {1}, {start})
        .ints("e", {1}, {end})
        .ints("a", {1}, {-1})
        .ints("s", {1}, {step})
        .node("Slice", {"x", "b", "e", "a", "s"}, {"y"});
    return fold(m);
  };
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  CHECK(slice(1, 3, 1) == Ints64{1, 2});
  CHECK(slice(-2, kBig, 1) == Ints64{3, 4});
  CHECK(slice(-1, -kBig, -1) == Ints64{4, 3, 2, 1, 0});
  CHECK(slice(kBig, -kBig - 1, -2) == Ints64{4, 2, 0});
  CHECK(slice(0, kBig, kBig) == Ints64{0});
  CHECK(slice(3, 1, 1).empty());
}

TEST_CASE("movement of known values") {
  ModelBuilder m(13);
  m.ints("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .ints("r", {2}, {1, 2})
      .ints("flat", {1}, {-1})
      .node("Transpose", {"x"}, {"t"})
      .node("Tile", {"t", "r"}, {"tt"})
      .node("Reshape", {"tt", "flat"}, {"y"});
  CHECK(fold(m) == Ints64{1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6});
}

TEST_CASE("Expand, Where, Equal, Cast, Not, ReduceProd, Range, ConstantOfShape, Size, Split") {
  ModelBuilder m(13);
  m.ints("x", {3}, {1, 2, 3})
      .ints("two", {}, {2})
      .ints("zero", {}, {0})
      .ints("shape", {2}, {2, 3})
      .node("Equal", {"x", "two"}, {"is_two"})
      .node("Where", {"is_two", "zero", "x"}, {"w"})  // 1 0 3
      .node("Expand", {"w", "shape"}, {"e"})          // twice
      .node("Split", {"e"}, {"top", "bottom"})
      .attr("axis", 0)
      .node("ReduceProd", {"x"}, {"p"})  // [6]
      .attr("keepdims", 1)
      .node("Size", {"e"}, {"n"})                  // 6
      .node("Range", {"zero", "n", "two"}, {"r"})  // 0 2 4
      .node("ConstantOfShape", {"p"}, {"f"})       // six f32 zeros
      .node("Cast", {"f"}, {"fi"})
      .attr("to", 7)
      .node("Squeeze", {"bottom"}, {"b"})
      .node("Concat", {"b", "p", "r", "fi"}, {"y"})
      .attr("axis", 0);
  CHECK(fold(m) == Ints64{1, 0, 3, 6, 0, 2, 4, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("integer division truncates and modulo follows fmod") {
  ModelBuilder m(13);
  m.ints("a", {2}, {-7, 7})
      .ints("b", {1}, {2})
      .node("Div", {"a", "b"}, {"d"})
      .node("Mod", {"a", "b"}, {"floor"})
      .node("Mod", {"a", "b"}, {"trunc"})
      .attr("fmod", 1)
      .node("Concat", {"d", "floor", "trunc"}, {"y"})
      .attr("axis", 0);
  CHECK(fold(m) == Ints64{-3, 3, 1, 1, -1, 1});
}

TEST_CASE("integer division by zero gives what it gives at run time") {
  ModelBuilder m(13);
  m.ints("a", {2}, {1, 7}).ints("b", {2}, {0, 2}).node("Div", {"a", "b"}, {"d"}).node("Mod", {"a", "b"}, {"m"});
  m.node("Concat", {"d", "m"}, {"y"}).attr("axis", 0);
  CHECK(fold(m) == Ints64{0, 3, 0, 1});
}

TEST_CASE("a nested If takes the branch its folded condition names and sees outer names") {
  ModelBuilder branch(13);
  branch.node("Relu", {"x"}, {"inner"}).output("inner");
  ModelBuilder other(13);
  other.node("Neg", {"x"}, {"inner2"}).output("inner2");
  ModelBuilder m(13);
  m.input("x", {1, 4})
      .ints("zero", {}, {0})
      .ints("one", {}, {1})
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"d"})
      .node("Equal", {"d", "one"}, {"c"})
      .node("If", {"c"}, {"y"});
  for (const auto* name : {"then_branch", "else_branch"}) {
    auto* attribute = m.last().add_attribute();
    attribute->set_name(name);
    attribute->set_type(::hearth_onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = (std::string(name) == "then_branch" ? branch : other).proto().graph();
  }
  const auto model = m.output("y").import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(count_ops(*model, v1::NEG) == 0);
  CHECK(count_ops(*model, v1::MAX) + count_ops(*model, v1::WHERE) == 1);
}

TEST_CASE("weights are moved on the host and stay parameters") {
  ModelBuilder m(13);
  m.input("x", {1, 2})
      .floats("w", {2, 2}, {1, 2, 3, 4})
      .node("Transpose", {"w"}, {"wt"})
      .node("Transpose", {"wt"}, {"wtt"})
      .node("MatMul", {"x", "wtt"}, {"y"})
      .output("y");
  const auto model = m.import();
  REQUIRE(model.ok());
  CHECK(count_ops(*model, v1::PARAMETER) == 1);
  CHECK(count_ops(*model, v1::CONSTANT) == 0);
  const auto traced = client::encode_graph(model->outputs);
  REQUIRE(traced.ok());
  const auto& data = traced->parameters.at("wtt");
  const auto* values = static_cast<const float*>(data.data);
  CHECK(std::vector<float>(values, values + 4) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("huge folded results are refused or left to the compiler") {
  ModelBuilder m(13);
  m.ints("shape", {2}, {1 << 20, 1 << 20}).node("ConstantOfShape", {"shape"}, {"y"}).output("y");
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == Ints64{1 << 20, 1 << 20});
  ModelBuilder range(13);
  range.ints("a", {}, {0}).ints("b", {}, {std::int64_t{1} << 60}).ints("c", {}, {1});
  range.node("Range", {"a", "b", "c"}, {"y"}).output("y");
  CHECK_THAT(error_of(range.import()), Catch::Matchers::Contains("Range"));
}
