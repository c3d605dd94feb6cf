// Results whose length depends on the data: how they are named and cut, and who may read them.
#include <catch2/catch.hpp>
#include <cstring>

#include "client/onnx/results.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
using Ints64 = std::vector<std::int64_t>;

namespace {

Array f32(Ints64 shape, const std::vector<float>& values) {
  return {DType::kF32, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

Ints64 integers(const Array& array) {
  Ints64 values(array.bytes.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

std::vector<Array> results_of(const ImportedModel& model, const std::map<std::string, Array>& inputs) {
  auto outputs = evaluate(model, inputs);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  auto results = cut_to_length(model, *std::move(outputs));
  INFO(results.status().message());
  REQUIRE(results.ok());
  return *std::move(results);
}

}  // namespace

TEST_CASE("a result of unknown length names the output that holds it, and is cut to it") {
  ModelBuilder m(17);
  m.input("x", {2, 3}).node("NonZero", {"x"}, {"at"}).output("at");
  const auto model = m.import();
  REQUIRE(model.ok());
  CHECK(model->results.size() == 1);
  CHECK(model->results[0].shape == client::Shape{2, 6});
  CHECK(model->results[0].length_output == "at.length");
  CHECK(model->results[0].length_axis == 1);
  CHECK(model->outputs.at(1).first == "at.length");
  const std::vector<Array> results = results_of(*model, {{"x", f32({2, 3}, {0, 5, 0, 0, 0, -1})}});
  CHECK(results.at(0).shape == Ints64{2, 2});
  CHECK(integers(results[0]) == Ints64{0, 1, 1, 2});
  CHECK(results_of(*model, {{"x", f32({2, 3}, {0, 0, 0, 0, 0, 0})}}).at(0).shape == Ints64{2, 0});
}

TEST_CASE("results share a length, whose name is nobody else's") {
  ModelBuilder m(17);
  m.input("x", {4}).node("Unique", {"x"}, {"y", "first", "inverse", "counts"});
  m.node("Relu", {"x"}, {"y.length"}).output("y").output("first").output("inverse").output("y.length");
  const auto model = m.import();
  REQUIRE(model.ok());
  CHECK(model->outputs.size() == 5);
  CHECK(model->results[0].length_output == "y.length_");
  CHECK(model->results[1].length_output == "y.length_");
  CHECK(model->results[2].length_output.empty());
  const std::vector<Array> results = results_of(*model, {{"x", f32({4}, {3, 1, 3, 3})}});
  CHECK(results.at(0).bytes == f32({2}, {1, 3}).bytes);
  CHECK(integers(results.at(1)) == Ints64{1, 0});
  CHECK(integers(results.at(2)) == Ints64{1, 0, 1, 1});
}

TEST_CASE("Identity, Transpose and Cast keep a length along its axis") {
  ModelBuilder m(17);
  m.input("x", {2, 2}).node("NonZero", {"x"}, {"a"}).node("Identity", {"a"}, {"b"});
  m.node("Transpose", {"b"}, {"c"}).attr("perm", Ints64{1, 0});
  m.node("Cast", {"c"}, {"d"}).attr("to", std::int64_t{::hearth_onnx::TensorProto::FLOAT}).output("d");
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].length_axis == 0);
  const std::vector<Array> results = results_of(*model, {{"x", f32({2, 2}, {0, 1, 1, 0})}});
  CHECK(results.at(0).shape == Ints64{2, 2});
  CHECK(results.at(0).bytes == f32({2, 2}, {0, 1, 1, 0}).bytes);
}

TEST_CASE("other operators refuse an input of unknown length, by its name") {
  for (const char* op : {"Relu", "Shape", "Neg", "ReduceSum", "Size"}) {
    ModelBuilder m(17);
    m.input("x", {2, 2}).node("NonZero", {"x"}, {"at"}).node(op, {"at"}, {"y"}, "n").output("y");
    const auto model = m.import();
    CHECK(model.status().code() == absl::StatusCode::kUnimplemented);
    CHECK_THAT(error_of(model), Contains("node 'n'") && Contains("input 0 ('at'), whose length depends on the data"));
  }
}

TEST_CASE("outputs that do not fit their model are errors") {
  ModelBuilder m(17);
  m.input("x", {4}).node("NonZero", {"x"}, {"at"}).output("at");
  const auto model = m.import();
  REQUIRE(model.ok());
  const Array at{DType::kI64, {1, 4}, std::string(32, '\0')};
  Array length{DType::kI64, {}, std::string(8, '\0')};
  CHECK(cut_to_length(*model, {at, length}).ok());
  CHECK(absl::IsDataLoss(cut_to_length(*model, {at}).status()));
  length.bytes[0] = 5;
  CHECK(absl::IsDataLoss(cut_to_length(*model, {at, length}).status()));
}
