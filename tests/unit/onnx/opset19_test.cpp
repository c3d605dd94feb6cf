// What opset 19 brought, on the reference interpreter: Cast and CastLike with fp8 types, dilated AveragePool. Debian's
// test cases (ONNX 1.12) are older: the values are those of ONNX 1.14's cases, the expected bits are worked out by hand
// from the table in Cast-19's documentation.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "client/tensor/elements.h"
#include "hearth/v1/graph.pb.h"
#include "tests/unit/fp8_judge.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

constexpr int kE4M3FN = 17, kE5M2 = 19;

const std::vector<float> kValues = {0.47892547F, 0.48033667F, 0.49968487F, 0.81910545F, 0.47031248F,
                                    0.7229038F,  1000000.0F,  1e-7F,       NAN,         INFINITY,
                                    INFINITY,    -INFINITY,   -1e-7F,      1e-7F,       -1000000.0F};

Array array_19(const std::vector<float>& values) {
  return {DType::kF32,
          {static_cast<std::int64_t>(values.size())},
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

ModelBuilder cast_model(int to, int opset = 19) {
  ModelBuilder m(opset);
  m.input("x", {static_cast<std::int64_t>(kValues.size())}).node("Cast", {"x"}, {"y"}).attr("to", to).output("y");
  return m;
}

// NaN may have any of its patterns.
void check_bits(const Array& got, const test::Fp8Judge& judge, const std::vector<int>& want) {
  CHECK(got.dtype == (judge.is_e4m3 ? DType::kF8E4M3 : DType::kF8E5M2));
  REQUIRE(got.bytes.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto bits = static_cast<std::uint8_t>(got.bytes[i]);
    INFO("element " << i << " is " << int{bits} << ", expected " << want[i]);
    CHECK(judge.same(bits, static_cast<std::uint8_t>(want[i])));
  }
}

const std::vector<int> kE4M3Saturated = {0x2f, 0x2f, 0x30, 0x35, 0x2f, 0x34, 0x7e, 0x00,
                                         0x7f, 0x7e, 0x7e, 0xfe, 0x80, 0x00, 0xfe};
const std::vector<int> kE4M3Plain = {0x2f, 0x2f, 0x30, 0x35, 0x2f, 0x34, 0x7f, 0x00,
                                     0x7f, 0x7f, 0x7f, 0xff, 0x80, 0x00, 0xff};
const std::vector<int> kE5M2Saturated = {0x38, 0x38, 0x38, 0x3b, 0x38, 0x3a, 0x7b, 0x00,
                                         0x7f, 0x7b, 0x7b, 0xfb, 0x80, 0x00, 0xfb};
const std::vector<int> kE5M2Plain = {0x38, 0x38, 0x38, 0x3b, 0x38, 0x3a, 0x7c, 0x00,
                                     0x7f, 0x7c, 0x7c, 0xfc, 0x80, 0x00, 0xfc};

}  // namespace

TEST_CASE("Cast to fp8 saturates unless saturate = 0") {
  const std::map<std::string, Array> inputs = {{"x", array_19(kValues)}};
  check_bits(first_result(cast_model(kE4M3FN), inputs), test::kE4M3, kE4M3Saturated);
  check_bits(first_result(cast_model(kE4M3FN).attr("saturate", 1), inputs), test::kE4M3, kE4M3Saturated);
  check_bits(first_result(cast_model(kE4M3FN).attr("saturate", 0), inputs), test::kE4M3, kE4M3Plain);
  check_bits(first_result(cast_model(kE5M2), inputs), test::kE5M2, kE5M2Saturated);
  check_bits(first_result(cast_model(kE5M2).attr("saturate", 0), inputs), test::kE5M2, kE5M2Plain);
}

TEST_CASE("CastLike to fp8 does the same") {
  for (const bool saturates : {true, false}) {
    ModelBuilder m(19);
    m.input("x", {15}).input("like", {1}, kE5M2).node("CastLike", {"x", "like"}, {"y"}).output("y");
    if (!saturates) m.attr("saturate", 0);
    const Array like{DType::kF8E5M2, {1}, std::string(1, '\0')};
    check_bits(first_result(m, {{"x", array_19(kValues)}, {"like", like}}), test::kE5M2,
               saturates ? kE5M2Saturated : kE5M2Plain);
  }
}

TEST_CASE("every fp8 value casts to f32 and back to its bits") {
  for (const auto& [type, judge] : {std::pair(kE4M3FN, test::kE4M3), std::pair(kE5M2, test::kE5M2)}) {
    ModelBuilder m(19);
    m.input("x", {256}, type);
    m.node("Cast", {"x"}, {"y"}).attr("to", std::int64_t{::hearth_onnx::TensorProto::FLOAT}).output("y");
    m.node("Cast", {"y"}, {"z"}).attr("to", type).attr("saturate", 0).output("z");
    Array x{judge.is_e4m3 ? DType::kF8E4M3 : DType::kF8E5M2, {256}, std::string(256, '\0')};
    for (std::size_t i = 0; i < 256; ++i) x.bytes[i] = static_cast<char>(i);
    const auto imported = m.import();
    REQUIRE(imported.ok());
    const auto results = evaluate(*imported, {{"x", x}});
    REQUIRE(results.ok());
    std::vector<int> patterns;
    for (int i = 0; i < 256; ++i) {
      patterns.push_back(i);
      float got = 0;
      std::memcpy(&got, results->at(0).bytes.data() + i * 4, 4);
      const double want = judge.value(static_cast<std::uint8_t>(i));
      CHECK(((std::isnan(got) && std::isnan(want)) || static_cast<double>(got) == want));
    }
    check_bits(results->at(1), judge, patterns);
  }
}

TEST_CASE("fp8 initializers, raw and one a varint") {
  for (const bool raw : {true, false}) {
    ModelBuilder m(19);
    ::hearth_onnx::TensorProto* w = m.proto().mutable_graph()->add_initializer();
    w->set_name("w");
    w->set_data_type(kE4M3FN);
    w->add_dims(3);
    if (raw) {
      w->set_raw_data("\x38\xb8\x7e");
    } else {
      for (const int bits : {0x38, 0xb8, 0x7e}) w->add_int32_data(bits);
    }
    m.input("x", {3}).node("Cast", {"w"}, {"v"}).attr("to", std::int64_t{::hearth_onnx::TensorProto::FLOAT});
    m.node("Mul", {"x", "v"}, {"y"}).output("y");
    const Array y = first_result(m, {{"x", array_19({2, 3, 0.5F})}});
    CHECK(difference(y, array_19({2, -3, 224}), {0, 0}) == "");
  }
}

TEST_CASE("saturate before opset 19 is refused by name") {
  CHECK_THAT(error_of(cast_model(::hearth_onnx::TensorProto::FLOAT16, 18).attr("saturate", 1).import()),
             Contains("attribute 'saturate'"));
}

TEST_CASE("AveragePool has dilations") {
  ModelBuilder m(19);
  m.input("x", {1, 1, 5}).node("AveragePool", {"x"}, {"y"}).output("y");
  m.attr("kernel_shape", std::vector<std::int64_t>{2}).attr("dilations", std::vector<std::int64_t>{2});
  Array x = array_19({1, 2, 3, 4, 50}), want = array_19({2, 3, 26.5F});
  x.shape = {1, 1, 5}, want.shape = {1, 1, 3};
  CHECK(difference(first_result(m, {{"x", x}}), want, {0, 0}) == "");
}

TEST_CASE("Pow with base 2 is exp2") {
  ModelBuilder m(17);
  m.input("x", {3}).floats("two", {}, {2}).node("Pow", {"two", "x"}, {"y"}).output("y");
  const auto imported = m.import();
  REQUIRE(imported.ok());
  CHECK(count_ops(*imported, v1::EXP2) == 1);
  CHECK(count_ops(*imported, v1::POW) == 0);
  CHECK(difference(first_result(m, {{"x", array_19({-1, 0, 10})}}), array_19({0.5F, 1, 1024}), {0, 0}) == "");
}
