// Lengths with which a model can be imported are found by importing it.
#include "client/onnx/dim_search.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "client/onnx/model_file.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

absl::StatusOr<DimSearch> search(ModelBuilder& m, const ImportOptions& given = {}) {
  const auto model = parse_model(m.proto().SerializeAsString(), "m.onnx");
  REQUIRE(model.ok());
  return find_dims(*model, given);
}

// A model that takes exactly what it is given: reshapes its input to `lengths`.
ModelBuilder reshapes_to(const std::vector<std::int64_t>& lengths) {
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "time"}).ints("s", {static_cast<std::int64_t>(lengths.size())}, lengths);
  m.node("Reshape", {"x", "s"}, {"y"}).output("y");
  return m;
}

}  // namespace

TEST_CASE("a model that takes any length: one batch, some time, and both may be ranges") {
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "time"}).node("Relu", {"x"}, {"y"}).output("y");
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK(found->open == std::vector<std::string>{"batch", "time"});
  CHECK((found->lengths.at("batch").min == 1 && found->lengths.at("batch").max == 1));
  CHECK(found->lengths.at("time").min == 16);
  CHECK(found->ranged == found->open);
}

TEST_CASE("a model that takes one length alone: it is found, and is no range") {
  ModelBuilder m = reshapes_to({1, 4, 128});
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK(found->lengths.at("batch").min * found->lengths.at("time").min == 512);
  CHECK(found->ranged.empty());
}

TEST_CASE("one dimension that must be what the weights are, and others that need some length") {
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "channels", "time"}).floats("w", {4, 2, 9}, std::vector<float>(72));
  m.node("Conv", {"x", "w"}, {"y"}).output("y");
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK((found->lengths.at("batch").min == 1 && found->lengths.at("channels").min == 2));
  CHECK(found->lengths.at("time").min >= 9);
  CHECK(std::count(found->ranged.begin(), found->ranged.end(), "channels") == 0);
}

TEST_CASE("lengths that are given are kept, and only the others searched for") {
  ModelBuilder m = reshapes_to({1, 4, 128});
  const auto found = search(m, {.dims = {{"batch", 8}}});
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK(found->open == std::vector<std::string>{"time"});
  CHECK((found->lengths.at("batch").min == 8 && found->lengths.at("time").min == 64));
}

TEST_CASE("a model whose branches take different lengths: a value that decides, and the lengths that hold with it") {
  ModelBuilder wide(17), narrow(17);
  wide.ints("s", {2}, {2, 288}).node("Reshape", {"x", "s"}, {"r"}).node("ReduceSum", {"r"}, {"b"}).output("b");
  narrow.ints("s", {2}, {2, 128}).node("Reshape", {"x", "s"}, {"r"}).node("ReduceSum", {"r"}, {"b"}).output("b");
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "time"}).input("rate", {}, ::hearth_onnx::TensorProto::INT64).ints("k", {}, {16000});
  m.node("Equal", {"rate", "k"}, {"c"}).node("If", {"c"}, {"y"}).attr_graph("then_branch", wide);
  m.attr_graph("else_branch", narrow).output("y");
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  REQUIRE(found->constants.count("rate") == 1);
  CHECK(found->lengths.at("batch").min == 1);
  CHECK(found->lengths.at("time").min == 576);
  CHECK(found->tried.at("time").hold == std::vector<std::int64_t>{576});
  CHECK(found->tried.at("time").fail == std::vector<std::int64_t>{1, 16, 64, 128, 224, 256, 288, 512, 640, 1024});
  const auto other = search(m, {.constants = {{"rate", {hearth::DType::kI64, {}, std::string(8, '\0')}}}});
  REQUIRE(other.ok());
  CHECK(other->tried.at("time").hold == std::vector<std::int64_t>{256});
}

TEST_CASE("a length of -1 is a dimension without one") {
  ModelBuilder m(17);
  m.input("x", {-1, 3}).node("Relu", {"x"}, {"y"}).output("y");
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK(found->open == std::vector<std::string>{"x.0"});
}

TEST_CASE("a model that no length suits says why, and one that needs none is imported once") {
  ModelBuilder wrong = reshapes_to({7, 11, 13});
  CHECK_THAT(std::string(search(wrong).status().message()), Contains("m.onnx: ") && Contains("Reshape"));
  ModelBuilder fixed(17);
  fixed.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  const auto found = search(fixed);
  REQUIRE(found.ok());
  CHECK((found->open.empty() && found->lengths.empty()));
}

TEST_CASE(
    "a mask with a dimension of its own is as long as the cache and what is added: no length of its own is offered") {
  ModelBuilder m(17);
  m.symbolic_input("scores", {"batch", "seq", "past"}).symbolic_input("new", {"batch", "seq", "seq"});
  m.symbolic_input("mask", {"batch", "total"}).ints("axis", {1}, {1});
  m.node("Concat", {"scores", "new"}, {"all"}).attr("axis", 2);
  m.node("Unsqueeze", {"mask", "axis"}, {"rows"}).node("Add", {"all", "rows"}, {"y"}).output("y");
  const auto found = search(m);
  INFO(found.status().message());
  REQUIRE(found.ok());
  CHECK(found->open == std::vector<std::string>{"batch", "seq", "past"});
  CHECK(found->ranged == found->open);
  CHECK(found->expressions == std::map<std::string, std::string>{{"total", "past+seq"}});
  CHECK(found->lengths.count("total") == 0);
}
