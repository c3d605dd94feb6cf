// Random operators: the same numbers for the same seed, others for another, of the right moments.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;

namespace {

std::vector<float> numbers(const ModelBuilder& m, const std::map<std::string, Array>& inputs = {}) {
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->is_random);
  const auto results = evaluate(*model, inputs);
  REQUIRE(results.ok());
  REQUIRE(results->at(0).dtype == DType::kF32);
  std::vector<float> values(results->at(0).bytes.size() / sizeof(float));
  std::memcpy(values.data(), results->at(0).bytes.data(), results->at(0).bytes.size());
  return values;
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (float value : values) m.mean += static_cast<double>(value) / n;
  for (float value : values)
    m.variance += (static_cast<double>(value) - m.mean) * (static_cast<double>(value) - m.mean) / n;
  return m;
}

ModelBuilder drawn(const std::string& op, float seed, const std::string& result = "y") {
  ModelBuilder m(17);
  m.node(op, {}, {result}).attr("shape", std::vector<std::int64_t>{50, 80}).attr_real("seed", seed).output(result);
  return m;
}

}  // namespace

TEST_CASE("uniform and normal numbers have their moments") {
  const Moments uniform = moments(numbers(drawn("RandomUniform", 1).attr_real("low", -1).attr_real("high", 3)));
  CHECK(uniform.mean == Approx(1).margin(0.06));
  CHECK(uniform.variance == Approx(16.0 / 12).margin(0.08));
  const Moments normal = moments(numbers(drawn("RandomNormal", 1).attr_real("mean", 5).attr_real("scale", 2)));
  CHECK(normal.mean == Approx(5).margin(0.12));
  CHECK(normal.variance == Approx(4).margin(0.3));
}

TEST_CASE("a seed decides the numbers, without one the output's name") {
  CHECK(numbers(drawn("RandomUniform", 1)) == numbers(drawn("RandomUniform", 1, "z")));
  CHECK(numbers(drawn("RandomUniform", 1)) != numbers(drawn("RandomUniform", 2)));
  const auto unseeded = [](const std::string& result) {
    ModelBuilder m(17);
    m.node("RandomNormal", {}, {result}).attr("shape", std::vector<std::int64_t>{9}).output(result);
    return numbers(m);
  };
  CHECK(unseeded("a") == unseeded("a"));
  CHECK(unseeded("a") != unseeded("b"));
}

TEST_CASE("dropout in training zeroes its share and scales the rest") {
  ModelBuilder m(17);
  m.input("x", {4000}).floats("ratio", {}, {0.25F});
  ::hearth_onnx::TensorProto* training = m.proto().mutable_graph()->add_initializer();
  training->set_name("training");
  training->set_data_type(::hearth_onnx::TensorProto::BOOL);
  training->add_int32_data(1);
  m.node("Dropout", {"x", "ratio", "training"}, {"y"}).attr("seed", 3).output("y");
  const std::vector<float> ones(4000, 1.0F);
  const Array x{DType::kF32, {4000}, std::string(reinterpret_cast<const char*>(ones.data()), 16000)};
  const std::vector<float> values = numbers(m, {{"x", x}});
  int zeros = 0;
  for (float value : values) {
    if (value == 0)
      ++zeros;
    else
      CHECK(value == Approx(1 / 0.75));
  }
  CHECK(zeros > 900);
  CHECK(zeros < 1100);
}

TEST_CASE("multinomial draws classes by their weights") {
  ModelBuilder m(17);
  m.input("logits", {1, 3}).node("Multinomial", {"logits"}, {"draws"}).attr("sample_size", 1000).attr_real("seed", 1);
  m.node("Cast", {"draws"}, {"y"}).attr("to", std::int64_t{::hearth_onnx::TensorProto::FLOAT}).output("y");
  const float logits[] = {0, 0, 1.0986F};  // weights 1, 1, 3
  const Array x{DType::kF32, {1, 3}, std::string(reinterpret_cast<const char*>(logits), sizeof(logits))};
  int counts[3] = {};
  for (float value : numbers(m, {{"logits", x}})) ++counts[static_cast<int>(value)];
  CHECK(counts[0] > 150);
  CHECK(counts[1] > 150);
  CHECK(counts[2] > 530);
}
