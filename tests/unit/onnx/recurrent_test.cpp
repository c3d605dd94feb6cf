// Recurrent layers and com.microsoft: activations and refusals that neither ONNX's cases nor numpy's hold.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

ModelBuilder& reals(ModelBuilder& m, const std::string& name, const std::vector<float>& values) {
  auto* attribute = m.last().add_attribute();
  attribute->set_name(name);
  attribute->set_type(::hearth_onnx::AttributeProto::FLOATS);
  attribute->mutable_floats()->Assign(values.begin(), values.end());
  return m;
}

// One step, item and hidden unit in both directions: 2 x forwards, 3 x backwards.
ModelBuilder bidirectional(const std::vector<std::string>& activations) {
  ModelBuilder m(14);
  m.input("x", {1, 1, 1}).floats("w", {2, 1, 1}, {2, 3}).floats("r", {2, 1, 1}, {0, 0});
  m.node("RNN", {"x", "w", "r"}, {"y"}, "rnn").attr("hidden_size", 1).attr_text("direction", "bidirectional");
  auto* attribute = m.last().add_attribute();
  attribute->set_name("activations");
  attribute->set_type(::hearth_onnx::AttributeProto::STRINGS);
  for (const std::string& name : activations) attribute->add_strings(name);
  return m.output("y");
}

std::vector<float> run_recurrent(const ModelBuilder& m, float x) {
  return elements(first_result(m, {{"x", array_of({1, 1, 1}, {x})}}));
}

}  // namespace

TEST_CASE("activations of recurrent layers take their parameters in turn") {
  struct Row {
    std::string name;
    double (*value)(double);
  };
  const Row rows[] = {
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0.0; }},
      {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"Affine", [](double x) { return x; }},
      {"ScaledTanh", [](double x) { return std::tanh(x); }},
  };
  for (const Row& row : rows) {
    for (const float x : {-0.4F, 0.3F}) {
      INFO(row.name << " of " << x);
      const std::vector<float> got = run_recurrent(bidirectional({row.name, row.name}), x);
      CHECK(got[0] == Approx(row.value(2.0 * static_cast<double>(x))).margin(1e-6));
      CHECK(got[1] == Approx(row.value(3.0 * static_cast<double>(x))).margin(1e-6));
    }
  }
  ModelBuilder m = bidirectional({"Affine", "ScaledTanh"});
  reals(m, "activation_alpha", {4, 0.5});
  reals(m, "activation_beta", {1, 0.25});
  const std::vector<float> got = run_recurrent(m, 2);
  CHECK(got[0] == Approx(4 * 4 + 1));
  CHECK(got[1] == Approx(0.5 * std::tanh(0.25 * 6)));
}

TEST_CASE("wrong activations of recurrent layers are errors") {
  CHECK_THAT(error_of(bidirectional({"Tanh"}).import()), Contains("names 1 functions; 2 are needed"));
  CHECK_THAT(error_of(bidirectional({"Tanh", "Sine"}).import()), Contains("activation 'Sine' is not supported"));
  ModelBuilder m = bidirectional({"Tanh", "Elu"});
  CHECK_THAT(error_of(reals(m, "activation_alpha", {1, 2}).import()), Contains("more activation parameters"));
}

TEST_CASE("operators of com.microsoft say what they do not do") {
  const auto error = [](const std::string& op, const std::vector<std::string>& inputs, const auto& attributes) {
    ModelBuilder m(17);
    m.input("x", {2, 3, 8}).input("w", {8, 24}).input("past", {2, 2, 5, 4});
    m.input("last", {2}, ::hearth_onnx::TensorProto::INT32)
        .input("mask", {2, 3, 3, 3}, ::hearth_onnx::TensorProto::INT32);
    m.node(op, inputs, {"y"}).output("y");
    m.last().set_domain("com.microsoft");
    attributes(m);
    const std::string without = error_of(m.import());
    CHECK_THAT(without, Contains("no version of operator domain 'com.microsoft' is imported"));
    auto* domain = m.proto().add_opset_import();
    domain->set_domain("com.microsoft");
    domain->set_version(1);
    return error_of(m.import());
  };
  const auto heads = [](std::int64_t number) { return [number](ModelBuilder& m) { m.attr("num_heads", number); }; };
  const auto groups = [](ModelBuilder& m) { m.attr("num_heads", 2).attr("kv_num_heads", 2); };
  CHECK_THAT(error("FlyAttention", {"x"}, heads(2)),
             Contains("com.microsoft::FlyAttention") && Contains("this operator"));
  CHECK_THAT(error("Attention", {"x", "w"}, heads(3)), Contains("hidden size 8 is no multiple of 3 heads"));
  CHECK_THAT(error("Attention", {"x", "w"}, heads(0)), Contains("num_heads is 0"));
  CHECK_THAT(error("Attention", {"x", "w", "", "mask"}, heads(2)), Contains("a mask of shape [2, 3, 3, 3]"));
  CHECK_THAT(error("MultiHeadAttention", {"x"}, heads(2)), Contains("packed query, key and value"));
  CHECK_THAT(error("GroupQueryAttention", {"x", "x", "x", "past", "", "last", "last"}, groups),
             Contains("past_key and past_value come together"));
}
