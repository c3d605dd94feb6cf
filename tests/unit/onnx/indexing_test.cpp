// Opsets and attributes of the operators that write by index, sort, choose and multiply, beyond ONNX's own cases.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
using Ints64 = std::vector<std::int64_t>;

namespace {

std::vector<float> floats(const ModelBuilder& m, const std::vector<float>& x) {
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  const auto n = static_cast<std::int64_t>(x.size());
  const auto results =
      evaluate(*model, {{"x", {DType::kF32, {n}, std::string(reinterpret_cast<const char*>(x.data()), x.size() * 4)}}});
  INFO(results.status().message());
  REQUIRE(results.ok());
  std::vector<float> values(results->at(0).bytes.size() / sizeof(float));
  std::memcpy(values.data(), results->at(0).bytes.data(), results->at(0).bytes.size());
  return values;
}

ModelBuilder scatter(int opset, const std::string& op, const std::string& reduction) {
  ModelBuilder m(opset);
  m.input("x", {3}).ints("at", {2}, {1, 1}).floats("updates", {2}, {5, -5});
  m.node(op, {"x", "at", "updates"}, {"y"}, "n").output("y");
  if (!reduction.empty()) m.attr_text("reduction", reduction);
  return m;
}

}  // namespace

TEST_CASE("TopK takes k as an attribute before opset 10, as an input from then on") {
  ModelBuilder old(9);
  old.input("x", {4}).node("TopK", {"x"}, {"values", "indices"}).attr("k", std::int64_t{2}).output("values");
  CHECK(floats(old, {1, 4, 2, 4}) == std::vector<float>{4, 4});
  ModelBuilder least(11);
  least.input("x", {4}).ints("k", {1}, {3}).node("TopK", {"x", "k"}, {"values", "indices"});
  least.attr("largest", std::int64_t{0}).attr("sorted", std::int64_t{0}).output("values");
  CHECK(floats(least, {1, 4, 2, 4}) == std::vector<float>{1, 2, 4});
  ModelBuilder both(9);
  both.input("x", {4}).ints("k", {1}, {3}).node("TopK", {"x", "k"}, {"values", "indices"}).output("values");
  CHECK_THAT(error_of(both.import()), Contains("input 1 (k) is an input from opset 10 on"));
  ModelBuilder many(11);
  many.input("x", {4}).ints("k", {1}, {5}).node("TopK", {"x", "k"}, {"values", "indices"}).output("values");
  CHECK_THAT(error_of(many.import()), Contains("k is 5; expected 0 to 4"));
}

TEST_CASE("a scatter's reduction is what its opset knows") {
  CHECK(floats(scatter(9, "Scatter", ""), {1, 2, 3}) == std::vector<float>{1, -5, 3});
  CHECK_THAT(error_of(scatter(11, "Scatter", "").import()), Contains("opsets 9 to 10; opset 11"));
  CHECK(floats(scatter(16, "ScatterElements", "add"), {1, 2, 3}) == std::vector<float>{1, 2, 3});
  CHECK(floats(scatter(18, "ScatterElements", "max"), {1, 2, 3}) == std::vector<float>{1, 5, 3});
  CHECK(floats(scatter(18, "ScatterElements", "min"), {1, 2, 3}) == std::vector<float>{1, -5, 3});
  CHECK_THAT(error_of(scatter(16, "ScatterElements", "max").import()), Contains("reduction 'max' is none of"));
  CHECK_THAT(error_of(scatter(15, "ScatterElements", "add").import()), Contains("attribute 'reduction'"));
}

TEST_CASE("boxes beyond the limit, and what does not fit, are named") {
  ModelBuilder boxes(11);
  boxes.input("boxes", {1, 5000, 4}).input("scores", {1, 1, 5000}).ints("most", {1}, {5000});
  boxes.node("NonMaxSuppression", {"boxes", "scores", "most"}, {"y"}).output("y");
  CHECK(boxes.import().status().code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(error_of(boxes.import()), Contains("max_output_boxes_per_class = 5000 of 5000 boxes"));
  ModelBuilder mixed(12);
  mixed.input("x", {2, 3}).ints("w", {3}, {1, 2, 3}).node("Einsum", {"x", "w"}, {"y"}).output("y");
  mixed.attr_text("equation", "ij,j->i");
  CHECK_THAT(error_of(mixed.import()), Contains("f32") && Contains("i64"));
  ModelBuilder eye(17);
  eye.input("x", {2}).node("EyeLike", {"x"}, {"y"}).output("y");
  CHECK_THAT(error_of(eye.import()), Contains("expected 2 axes"));
  ModelBuilder compress(11);
  compress.input("x", {2})
      .input("c", {3}, ::hearth_onnx::TensorProto::BOOL)
      .node("Compress", {"x", "c"}, {"y"})
      .output("y");
  CHECK_THAT(error_of(compress.import()), Contains("expected at most 2 elements"));
}
