// Weights stored as bf16 and int8: which tensors are, as what, and what the report says. Whole nets against numpy:
// tests/integration/narrow_weights_test.py.
#include <catch2/catch.hpp>
#include <cmath>

#include "client/onnx/narrow_weights.h"
#include "client/trace/encoded_graph.h"
#include "hearth/small_float.h"
#include "hearth/v1/graph.pb.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;

namespace {

// Type by name of what the import made parameters.
std::map<std::string, DType> parameters(const ImportedModel& model) {
  const auto traced = client::encode_graph(model.outputs);
  REQUIRE(traced.ok());
  std::map<std::string, DType> found;
  for (const auto& node : traced->graph.nodes()) {
    if (node.op() == v1::PARAMETER) found[node.name()] = static_cast<DType>(node.dtype());
  }
  return found;
}

using Parameters = std::map<std::string, DType>;

// y = (x w1) w2 + b, 64 to 64 features; w2 is one element short of being stored narrow when `small`.
ModelBuilder two_products(bool small = false) {
  ModelBuilder m(17);
  const std::int64_t last = small ? 63 : 64;
  const auto size = static_cast<std::size_t>(64 * last);
  m.input("x", {1, 64}).floats("w1", {64, 64}, std::vector<float>(64 * 64, 0.5F));
  m.floats("w2", {64, last}, std::vector<float>(size, 0.1F));
  m.floats("b", {last}, std::vector<float>(static_cast<std::size_t>(last), 1));
  m.node("MatMul", {"x", "w1"}, {"h"}).node("Gemm", {"h", "w2", "b"}, {"y"});
  return m.output("y");
}

}  // namespace

TEST_CASE("bf16 bits are those of rounding to nearest, ties to even") {
  int wrong = 0;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(value)) {
        const auto widened = std::bit_cast<float>(static_cast<std::uint32_t>(bf16_bits(value)) << 16);
        wrong += !std::isnan(widened) || std::signbit(widened) != std::signbit(value);
      } else {
        wrong += bf16_bits(value) != BFloat16(static_cast<double>(value)).bits();
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("only what is asked for is stored narrow: by default nothing, small tensors and biases never") {
  const auto f32 = two_products().import();
  REQUIRE(f32.ok());
  CHECK(parameters(*f32) == Parameters{{"w1", DType::kF32}, {"w2", DType::kF32}, {"b", DType::kF32}});
  CHECK(f32->weights.tensors == 0);

  const auto bf16 = two_products().import({.weights = Weights::kBf16});
  REQUIRE(bf16.ok());
  CHECK(parameters(*bf16) == Parameters{{"w1/bf16", DType::kBF16}, {"w2/bf16", DType::kBF16}, {"b", DType::kF32}});
  CHECK(bf16->weights.tensors == 2);
  CHECK(bf16->weights.f32_bytes == 2 * 64 * 64 * 4);
  CHECK(bf16->weights.stored_bytes == 2 * 64 * 64 * 2);
  CHECK(bf16->weights.worst == "w2");  // 0.5 is exact
  CHECK(bf16->weights.worst_error == Approx((0.10009765625 - 0.1F) / 0.1F).epsilon(1e-6));

  const auto int8 = two_products(/*small=*/true).import({.weights = Weights::kInt8});
  REQUIRE(int8.ok());
  CHECK(parameters(*int8) ==
        Parameters{{"w1/int8", DType::kI8}, {"w1/scale", DType::kF32}, {"w2", DType::kF32}, {"b", DType::kF32}});
  CHECK(int8->weights.stored_bytes == 64 * 64 + 64 * 4);
}

TEST_CASE("a weight of several products is stored once, also where one of them reads it transposed") {
  for (const Weights form : {Weights::kBf16, Weights::kInt8}) {
    ModelBuilder m(17);
    m.input("x", {1, 64}).floats("w", {64, 64}, std::vector<float>(64 * 64, 0.3F));
    m.node("Transpose", {"w"}, {"t"}).node("Gemm", {"x", "w"}, {"h"}).attr("transB", 1);
    m.node("MatMul", {"h", "t"}, {"i"}).node("Gemm", {"i", "w"}, {"y"}).attr("transB", 1);
    const auto model = m.output("y").import({.weights = form});
    REQUIRE(model.ok());
    CHECK(model->weights.tensors == 1);
    CHECK(parameters(*model).size() == (form == Weights::kBf16 ? 1 : 2));
  }
}

TEST_CASE("a weight that is also an addend is f32 there") {
  ModelBuilder m(17);
  m.input("x", {64, 64}).floats("w", {64, 64}, std::vector<float>(64 * 64, 0.3F));
  m.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "w"}, {"y"});
  const auto model = m.output("y").import({.weights = Weights::kBf16});
  REQUIRE(model.ok());
  CHECK(parameters(*model) == Parameters{{"w", DType::kF32}, {"w/bf16", DType::kBF16}});
}

TEST_CASE("weights with values that int8 has not stay f32 and are named") {
  ModelBuilder m(17);
  std::vector<float> values(64 * 64, 1);
  values[5] = NAN;
  m.input("x", {1, 64}).floats("w", {64, 64}, values).node("MatMul", {"x", "w"}, {"y"});
  const auto model = m.output("y").import({.weights = Weights::kInt8});
  REQUIRE(model.ok());
  CHECK(parameters(*model) == Parameters{{"w", DType::kF32}});
  CHECK(model->weights.kept == std::vector<std::string>{"w"});
  CHECK(model->weights.worst.empty());
}

TEST_CASE("int8 units are of the channel's own scale, whichever axis has the channels") {
  const std::vector<float> values = {127, -1, 0.5F, 2, 0, -4};  // [2, 3]
  const Int8Values rows = to_int8(values, 2, 3), columns = to_int8(values, 3, 1);
  CHECK(rows.scales == std::vector<float>{1, 4.0F / 127});
  CHECK(rows.bytes == std::string({127, -1, 0, 64, 0, -127}));  // 0.5 rounds to even; 2 / (4/127) is 63.5
  CHECK(columns.scales == std::vector<float>{1, 1.0F / 127, 4.0F / 127});
  CHECK(columns.bytes == std::string({127, -127, 16, 2, 0, -127}));  // 0.5 / (4/127) is 15.875
}
