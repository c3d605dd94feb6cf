// What opsets 20 to 28 brought, on the reference interpreter. Debian's test data ends at opset 17; what is expected
// here was computed by hand or with numpy from the operators' texts.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "client/onnx/operator_versions.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

Floats run_new(const ModelBuilder& model, const std::map<std::string, Array>& inputs) {
  return elements(first_result(model, inputs));
}

std::vector<int> elements_of_bytes(const Array& array) {
  return {reinterpret_cast<const unsigned char*>(array.bytes.data()),
          reinterpret_cast<const unsigned char*>(array.bytes.data()) + array.bytes.size()};
}

void check_close(const Floats& got, const Floats& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("a model of a new opset is imported where its operators mean what they meant") {
  for (const int opset : {20, 21, 22, 23, 24, 25, 26, 27, 28}) {
    ModelBuilder m(opset);
    m.input("x", {2, 2}).node("Transpose", {"x"}, {"t"}).node("Relu", {"t"}, {"y"}).output("y");
    CAPTURE(opset);
    CHECK(run_new(m, {{"x", array_of({2, 2}, {1, -2, 3, -4})}}) == Floats{1, 3, 0, 0});
  }
}

TEST_CASE("a new version of an operator that is not known is refused by what it changed") {
  REQUIRE(unknown_version("Attention", 25, 23) != nullptr);
  CHECK(unknown_version("Attention", 25, 23)->version == 24);
  CHECK(unknown_version("Attention", 25, 24) == nullptr);
}

TEST_CASE("Attention: a mask that ends before the keys, and how many keys are no padding") {
  // Queries and keys of zeros: each query sees the mean of the values that it may see.
  const auto mean_of = [](bool masked, std::int64_t count) {
    ModelBuilder m(24);
    m.input("q", {1, 1, 1, 2}).input("k", {1, 1, 4, 2}).input("v", {1, 1, 4, 1});
    if (masked) m.floats("mask", {1, 3}, {0, 0, 0});
    if (count > 0) m.ints("count", {1}, {count});
    m.node("Attention", {"q", "k", "v", masked ? "mask" : "", "", "", count > 0 ? "count" : ""}, {"y"}).output("y");
    return run_new(m, {{"q", array_of({1, 1, 1, 2}, {0, 0})},
                       {"k", array_of({1, 1, 4, 2}, Floats(8, 0))},
                       {"v", array_of({1, 1, 4, 1}, {1, 2, 6, 31})}})[0];
  };
  CHECK(mean_of(false, 0) == Approx(10));
  CHECK(mean_of(true, 0) == Approx(3));
  CHECK(mean_of(false, 2) == Approx(1.5));
  CHECK(mean_of(true, 1) == Approx(1));
}

TEST_CASE("TensorScatter: new places behind those of each item, around the end where the cache is circular") {
  const auto written = [](const std::string& mode, const std::vector<std::int64_t>& at) {
    ModelBuilder m(24);
    m.input("cache", {2, 3, 1}).input("update", {2, 2, 1}).ints("at", {2}, at);
    m.node("TensorScatter", {"cache", "update", "at"}, {"y"}).attr_text("mode", mode).output("y");
    return run_new(
        m, {{"cache", array_of({2, 3, 1}, {1, 2, 3, 4, 5, 6})}, {"update", array_of({2, 2, 1}, {10, 20, 30, 40})}});
  };
  CHECK(written("linear", {0, 1}) == Floats{10, 20, 3, 4, 30, 40});
  CHECK(written("circular", {2, 1}) == Floats{20, 2, 10, 4, 30, 40});
  CHECK(written("linear", {2, 3}) == Floats{1, 2, 10, 4, 5, 6});  // a full cache: what does not fit is left out
  ModelBuilder m(24);
  m.input("cache", {2, 3, 1}).input("update", {2, 4, 1}).node("TensorScatter", {"cache", "update"}, {"y"}).output("y");
  CHECK_THAT(error_of(m.import()), Contains("the cache holds 3 places along axis 1; 4 are to be written"));
}

TEST_CASE("GroupNormalization: one scale a group in opset 18, one a channel from 21 on") {
  const Array x = array_of({1, 4, 1}, {1, 3, 2, 6});
  const auto model = [](int opset, std::int64_t scales, const Floats& values) {
    ModelBuilder m(opset);
    m.input("x", {1, 4, 1}).floats("s", {scales}, values).floats("b", {scales}, Floats(values.size(), 0));
    m.node("GroupNormalization", {"x", "s", "b"}, {"y"}).attr("num_groups", 2).attr_real("epsilon", 0).output("y");
    return m;
  };
  check_close(run_new(model(18, 2, {1, 10}), {{"x", x}}), {-1, 1, -10, 10});
  check_close(run_new(model(21, 4, {1, 2, 3, 4}), {{"x", x}}), {-1, 2, -3, 4});
  CHECK_THAT(error_of(model(21, 2, {1, 10}).import()), Contains("one number a channel"));
}

TEST_CASE("DFT: its axis is an attribute up to opset 19 and an input from 20 on, the last but one without it") {
  const Array x = array_of({1, 2, 2, 1}, {1, 2, 3, 5});
  ModelBuilder before(19);
  before.input("x", {1, 2, 2, 1}).node("DFT", {"x"}, {"y"}).attr("axis", 1).output("y");
  ModelBuilder given(20);
  given.input("x", {1, 2, 2, 1}).ints("axis", {}, {1}).node("DFT", {"x", "", "axis"}, {"y"}).output("y");
  ModelBuilder last(20);
  last.input("x", {1, 2, 2, 1}).node("DFT", {"x"}, {"y"}).output("y");
  const Floats along_1 = {4, 0, 7, 0, -2, 0, -3, 0}, along_2 = {3, 0, -1, 0, 8, 0, -2, 0};
  check_close(run_new(before, {{"x", x}}), along_1);
  check_close(run_new(given, {{"x", x}}), along_1);
  check_close(run_new(last, {{"x", x}}), along_2);
}

TEST_CASE("Gelu, Swish and RMSNormalization of their own opsets") {
  const Array x = array_of({1, 2}, {1, -2});
  const auto of = [&](int opset, const std::string& op) {
    ModelBuilder m(opset);
    m.input("x", {1, 2}).floats("s", {2}, {1, 2});
    m.node(op, op == "RMSNormalization" ? std::vector<std::string>{"x", "s"} : std::vector<std::string>{"x"}, {"y"});
    return m.output("y");
  };
  check_close(run_new(of(20, "Gelu"), {{"x", x}}), {0.8413447f, -0.0455003f});
  check_close(run_new(of(24, "Swish"), {{"x", x}}), {0.7310586f, -0.2384058f});
  check_close(run_new(of(23, "RMSNormalization"), {{"x", x}}), {0.6324543f, -2.5298171f});
  CHECK_THAT(error_of(of(19, "Gelu").import()), Contains("opsets 20 to 28; opset 19"));
}

TEST_CASE("Attention: three and four axes, past keys, a causal mask and a cap") {
  ModelBuilder m(23);
  for (const char* name : {"q", "k", "v"}) m.input(name, {1, 1, 2});
  for (const char* name : {"pk", "pv"}) m.input(name, {1, 1, 1, 2});
  m.node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "present_k", "present_v"});
  m.attr("q_num_heads", 1).attr("kv_num_heads", 1).attr("is_causal", 1).attr_real("scale", 1).output("y");
  // Scores 0 of the past key and ln 3 of the new one: weights 1/4 and 3/4.
  const float ln3 = std::log(3.0f);
  const std::map<std::string, Array> inputs = {{"q", array_of({1, 1, 2}, {1, 0})},
                                               {"k", array_of({1, 1, 2}, {ln3, 5})},
                                               {"v", array_of({1, 1, 2}, {4, 8})},
                                               {"pk", array_of({1, 1, 1, 2}, {0, 7})},
                                               {"pv", array_of({1, 1, 1, 2}, {0, 16})}};
  check_close(run_new(m, inputs), {3, 10});
  ModelBuilder capped(23);
  for (const char* name : {"q", "k", "v"}) capped.input(name, {1, 1, 2, 1});
  capped.node("Attention", {"q", "k", "v"}, {"y"}).attr_real("softcap", 1).attr_real("scale", 1).output("y");
  // tanh of scores 0 and 100: weights 1 / (1 + e) and e / (1 + e).
  const Floats got = run_new(capped, {{"q", array_of({1, 1, 2, 1}, {1, 1})},
                                      {"k", array_of({1, 1, 2, 1}, {0, 100})},
                                      {"v", array_of({1, 1, 2, 1}, {0, 1})}});
  check_close(got, {0.7310586f, 0.7310586f});
}

TEST_CASE("RotaryEmbedding turns neighbours or halves by the rows of its caches") {
  const auto model = [](std::int64_t interleaved) {
    ModelBuilder m(23);
    m.input("x", {1, 1, 1, 4}).floats("c", {2, 2}, {1, 1, 0, -1}).floats("s", {2, 2}, {0, 0, 1, 0});
    m.ints("ids", {1, 1}, {1}).node("RotaryEmbedding", {"x", "c", "s", "ids"}, {"y"}).attr("interleaved", interleaved);
    return m.output("y");
  };
  const Array x = array_of({1, 1, 1, 4}, {1, 2, 3, 4});
  check_close(run_new(model(0), {{"x", x}}), {-3, -2, 1, -4});
  check_close(run_new(model(1), {{"x", x}}), {-2, 1, -3, -4});
}

TEST_CASE("QuantizeLinear and DequantizeLinear with a scale for each block") {
  ModelBuilder m(21);
  m.input("x", {1, 4}).floats("s", {1, 2}, {0.5f, 2}).node("QuantizeLinear", {"x", "s"}, {"q"});
  m.attr("axis", 1).attr("block_size", 2).attr("output_dtype", ::hearth_onnx::TensorProto::INT8);
  m.node("DequantizeLinear", {"q", "s"}, {"y"}).attr("axis", 1).attr("block_size", 2).output("y");
  check_close(run_new(m, {{"x", array_of({1, 4}, {1.2f, -3, 7, 1000})}}), {1, -3, 8, 254});
}

TEST_CASE("reductions of no elements give what any element would replace") {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const auto& [op, wanted] : {std::pair<const char*, float>{"ReduceMax", -infinite},
                                   {"ReduceMin", infinite},
                                   {"ReduceLogSumExp", -infinite}}) {
    CAPTURE(op);
    ModelBuilder m(20);
    m.input("x", {2, 0}).ints("axes", {1}, {1}).node(op, {"x", "axes"}, {"y"}).attr("keepdims", 0).output("y");
    CHECK(run_new(m, {{"x", array_of({2, 0}, {})}}) == Floats{wanted, wanted});
  }
}

TEST_CASE("Attention: windows count from a query's place, behind past keys and before padding") {
  // Queries and keys of zeros: each query sees the mean of the values that it may see.
  const auto means = [](std::int64_t left, std::int64_t right, std::int64_t count) {
    ModelBuilder m(25);
    m.input("q", {1, 1, 2, 1}).input("k", {1, 1, 5, 1}).input("v", {1, 1, 5, 1});
    if (count > 0) m.ints("count", {1}, {count});
    m.node("Attention", {"q", "k", "v", "", "", "", count > 0 ? "count" : ""}, {"y"}).output("y");
    m.attr("left_window_size", left).attr("right_window_size", right);
    return run_new(m, {{"q", array_of({1, 1, 2, 1}, {0, 0})},
                       {"k", array_of({1, 1, 5, 1}, Floats(5, 0))},
                       {"v", array_of({1, 1, 5, 1}, {1, 2, 4, 8, 16})}});
  };
  check_close(means(-1, -1, 0), {6.2F, 6.2F});
  check_close(means(0, 0, 0), {1, 2});
  check_close(means(0, 1, 0), {1.5F, 3});
  check_close(means(1, 0, 0), {1, 1.5F});
  check_close(means(1000, 1000, 0), {6.2F, 6.2F});  // larger than the sequence
  check_close(means(0, -1, 0), {6.2F, 7.5F});
  check_close(means(1, 0, 4), {3, 6});  // four keys: the queries are the third and the fourth
  check_close(means(1, 5, 4), {14.0F / 3, 6});
  const auto wrong = [](std::int64_t left) {
    ModelBuilder m(25);
    m.input("q", {1, 1, 2, 1});
    m.node("Attention", {"q", "q", "q"}, {"y"}).attr("left_window_size", left).output("y");
    return error_of(m.import());
  };
  CHECK_THAT(wrong(-2), Contains("left_window_size is -2; expected a number from 0 on, or -1"));
  // A mask that lets nothing through where the window does: zeros, no NaN.
  ModelBuilder m(25);
  m.input("q", {1, 1, 2, 1}).input("v", {1, 1, 2, 1}).floats("mask", {2, 2}, {-INFINITY, 0, 0, -INFINITY});
  m.node("Attention", {"q", "q", "v", "mask"}, {"y"}).attr("left_window_size", 0).attr("right_window_size", 0);
  m.output("y");
  check_close(run_new(m, {{"q", array_of({1, 1, 2, 1}, {0, 0})}, {"v", array_of({1, 1, 2, 1}, {1, 2})}}), {0, 0});
}

TEST_CASE("LinearAttention and CausalConvWithState: what does not go together is named") {
  const auto error = [](const std::string& rule, const std::vector<std::string>& inputs, std::int64_t heads) {
    ModelBuilder m(27);
    m.input("q", {1, 2, 4}).input("g", {1, 2, 2}).input("bad", {1, 2, 3});
    m.node("LinearAttention", inputs, {"y", "state"}).attr_text("update_rule", rule);
    m.attr("q_num_heads", heads).attr("kv_num_heads", 2).output("y");
    return error_of(m.import());
  };
  CHECK(error("gated", {"q", "q", "q", "", "g"}, 2) == "no error");
  CHECK_THAT(error("gated", {"q", "q", "q"}, 2), Contains("update_rule 'gated' needs input 'decay'"));
  CHECK_THAT(error("linear", {"q", "q", "q", "", "g"}, 2), Contains("update_rule 'linear' has no input 'decay'"));
  CHECK_THAT(error("delta", {"q", "q", "q"}, 2), Contains("needs input 'beta'"));
  CHECK_THAT(error("softmax", {"q", "q", "q"}, 2), Contains("update_rule is 'softmax'"));
  CHECK_THAT(error("linear", {"q", "q", "q"}, 3), Contains("q_num_heads is 3, kv_num_heads 2"));
  CHECK_THAT(error("gated", {"q", "q", "q", "", "bad"}, 2), Contains("is no multiple of 2 heads"));
  CHECK_THAT(error("linear", {"q", "q", "q", "g"}, 2), Contains("argument 'past' is f32 [1, 2, 2]"));
  const auto convolved = [](const std::string& activation, const std::vector<std::string>& inputs) {
    ModelBuilder m(27);
    m.input("x", {1, 2, 3}).input("w", {2, 1, 2}).input("past", {1, 2, 2});
    m.node("CausalConvWithState", inputs, {"y", "state"}).attr_text("activation", activation).output("y");
    return error_of(m.import());
  };
  CHECK(convolved("silu", {"x", "w"}) == "no error");
  CHECK_THAT(convolved("gelu", {"x", "w"}), Contains("activation is 'gelu'; expected none, silu or swish"));
  CHECK_THAT(convolved("none", {"x", "w", "", "past"}), Contains("argument 'past' is f32 [1, 2, 2]"));
  CHECK_THAT(convolved("none", {"x", "x"}), Contains("expected [N, C, T] and [C, 1, k]"));
}

TEST_CASE("BitCast: as many bits, and bool is a byte of 0 or 1") {
  const auto error = [](int opset, std::int64_t to) {
    ModelBuilder m(opset);
    m.input("x", {2}).node("BitCast", {"x"}, {"y"}).attr("to", to).output("y");
    return error_of(m.import());
  };
  CHECK(error(26, 6) == "no error");
  CHECK_THAT(error(26, 7), Contains("f32 has 32 bits, i64 64; BitCast needs as many"));
  CHECK_THAT(error(25, 6), Contains("opsets 26 to 28"));
  CHECK_THAT(error(29, 6), Contains("opset 29"));
}

TEST_CASE("Mod of floats without fmod is new in opset 28, and SpaceToDepth's mode") {
  const auto rests = [](int opset) {
    ModelBuilder m(opset);
    m.input("x", {4}).floats("y", {4}, {3, 3, -3, INFINITY}).node("Mod", {"x", "y"}, {"z"}).output("z");
    return m.import().ok() ? run_new(m, {{"x", array_of({4}, {5, -5, 5, -5})}}) : Floats{};
  };
  CHECK(rests(28) == Floats{2, 1, -1, INFINITY});
  CHECK(rests(27).empty());
  const auto blocks = [](int opset, const std::string& mode) {
    ModelBuilder m(opset);
    m.input("x", {1, 2, 2, 2}).node("SpaceToDepth", {"x"}, {"y"}).attr("blocksize", 2).output("y");
    if (!mode.empty()) m.attr_text("mode", mode);
    return m.import().ok() ? run_new(m, {{"x", array_of({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}}) : Floats{};
  };
  CHECK(blocks(28, "") == Floats{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(blocks(28, "DCR") == Floats{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(blocks(28, "CRD") == Floats{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(blocks(27, "CRD").empty());
}

TEST_CASE("element types of four and two bits are moved and cast, and refused by name where a machine would compute") {
  ModelBuilder m(25);
  m.input("x", {4}).node("Cast", {"x"}, {"n"}).attr("to", 22).node("Transpose", {"n"}, {"t"});
  m.node("Cast", {"t"}, {"y"}).attr("to", 1).output("y");
  CHECK(run_new(m, {{"x", array_of({4}, {1, -2, 7, -8})}}) == Floats{1, -2, 7, -8});
  const auto model = m.import();
  REQUIRE(model.ok());
  CHECK(model->results[0].stored.empty());
  ModelBuilder wrong(25);
  wrong.input("x", {2}).node("Cast", {"x"}, {"n"}).attr("to", 22).node("Relu", {"n"}, {"y"}, "bad").output("y");
  CHECK_THAT(error_of(wrong.import()),
             Contains("node 'bad'") && Contains("element type int4") && Contains("insert a Cast"));
  ModelBuilder result(25);
  result.input("x", {2}).node("Cast", {"x"}, {"y"}).attr("to", 23).output("y");
  const auto stored = result.import();
  REQUIRE(stored.ok());
  CHECK(stored->results[0].stored == "float4_e2m1fn");
  CHECK(stored->results[0].dtype == DType::kU8);
  CHECK(elements_of_bytes(first_result(result, {{"x", array_of({2}, {0.5F, -6})}})) == std::vector<int>{1, 15});
}

TEST_CASE("an RNN of one direction may name the activations of both") {
  const auto rnn = [](const std::vector<std::string>& names) {
    ModelBuilder m(14);
    m.input("x", {2, 1, 3})
        .floats("w", {1, 2, 3}, std::vector<float>(6, 0.5F))
        .floats("r", {1, 2, 2}, std::vector<float>(4, 0.5F));
    m.node("RNN", {"x", "w", "r"}, {"y"}).output("y");
    auto* attribute = m.last().add_attribute();
    attribute->set_name("activations");
    attribute->set_type(::hearth_onnx::AttributeProto::STRINGS);
    for (const std::string& name : names) attribute->add_strings(name);
    return m;
  };
  CHECK(rnn({"Tanh", "Tanh"}).import().ok());
  CHECK(rnn({"Tanh"}).import().ok());
  CHECK_THAT(error_of(rnn({"Tanh", "Relu"}).import()), Contains("names 2 functions; 1 are needed"));
}
