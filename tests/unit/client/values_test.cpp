// What recorded ops compute, by the interpreter of traced graphs: each row records an op over constants and
// compares with values worked out by hand (or by NumPy, ONNX and PyTorch documentation).
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "client/tensor/elements.h"
#include "client/trace/encoded_graph.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "hearth/ops.h"

using namespace hearth;
using namespace hearth::client;
namespace reference = hearth::codegen::reference;

namespace {

std::vector<double> evaluated(const Tensor& tensor) {
  absl::StatusOr<EncodedGraph> traced = encode_graph({{"y", tensor}});
  REQUIRE(traced.ok());
  absl::StatusOr<std::vector<reference::HostTensor>> results =
      codegen::reference::interpret_wire(traced->graph, {}, {});
  INFO(results.status().ToString());
  REQUIRE(results.ok());
  const reference::HostTensor& result = (*results)[0];
  REQUIRE(result.shape == const_shape(tensor.shape()));
  std::vector<double> values;
  for (std::int64_t i = 0; i < result.num_elements(); ++i) {
    const std::size_t width = dtype_bytes(tensor.dtype());
    const std::string_view bytes(
        reinterpret_cast<const char*>(result.bytes.data()) + static_cast<std::size_t>(i) * width, width);
    if (tensor.dtype() == DType::kF32) {
      float value;
      std::memcpy(&value, bytes.data(), sizeof value);
      values.push_back(value);
    } else if (tensor.dtype() == DType::kI64) {
      std::int64_t value;
      std::memcpy(&value, bytes.data(), sizeof value);
      values.push_back(static_cast<double>(value));
    } else if (is_float(tensor.dtype())) {
      values.push_back(decode_float(bytes, tensor.dtype()));
    } else {
      REQUIRE(width == 1);
      values.push_back(bytes[0]);
    }
  }
  return values;
}

void check(const char* what, const Tensor& tensor, const std::vector<double>& expected) {
  INFO(what);
  const std::vector<double> actual = evaluated(tensor);
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i);
    if (is_float(tensor.dtype())) {
      CHECK(actual[i] == Approx(expected[i]).epsilon(1e-6).margin(1e-6));
    } else {
      CHECK(actual[i] == expected[i]);
    }
  }
}

Tensor f32(Shape shape, std::vector<float> values) { return constant_f32(std::move(shape), values); }
// 1, 2, 3, …
Tensor ramp(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(shape).value()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return constant_f32(std::move(shape), values);
}

}  // namespace

TEST_CASE("elementwise values") {
  const Tensor x = f32({4}, {-2, -0.5, 0, 3});
  check("relu", relu(x), {0, 0, 0, 3});
  check("leaky_relu", leaky_relu(x, 0.1), {-0.2, -0.05, 0, 3});
  check("sign", sign(x), {-1, -1, 0, 1});
  check("clip", clip(x, -1, 1), {-1, -0.5, 0, 1});
  check("softplus", softplus(x), {0.126928, 0.474077, 0.693147, 3.048587});
  check("gelu", gelu(x), {-0.0455003, -0.1542688, 0, 2.9959502});
  check("elu", elu(x), {-0.8646647, -0.3934693, 0, 3});
  check("hard_sigmoid", hard_sigmoid(x), {0.1, 0.4, 0.5, 1});
  check("floor_mod", floor_mod(f32({3}, {-5, 5, 5.5}), 3), {1, 2, 2.5});
  check("trunc_mod", trunc_mod(f32({3}, {-5, 5, 5.5}), 3), {-2, 2, 2.5});
  check("integer floor_div", floor_div(constant_i64({2}, {-5, 5}), 3), {-2, 1});
  check("greater", cast(greater(x, 0), DType::kF32), {0, 0, 0, 1});
  check("1 - x", 1.0 - x, {3, 1.5, 1, -2});
  check("is_inf", cast(is_inf(f32({2}, {1, -HUGE_VALF})), DType::kF32), {0, 1});
}

TEST_CASE("movement values") {
  const Tensor x = ramp({6});
  check("slice step", slice(x, {{.axis = 0, .begin = 1, .end = 6, .step = 2}}), {2, 4, 6});
  check("slice step odd", slice(x, {{.axis = 0, .begin = 0, .end = 5, .step = 3}}), {1, 4});
  check("slice reverse", slice(x, {{.axis = 0, .begin = -1, .end = Slice::kBeforeBegin, .step = -1}}),
        {6, 5, 4, 3, 2, 1});
  check("slice reverse step", slice(x, {{.axis = 0, .begin = 4, .end = 0, .step = -2}}), {5, 3});
  check("slice negative", slice(x, {{.axis = 0, .begin = -3, .end = -1}}), {4, 5});
  check("pad fill", pad(ramp({2}), {1}, {2}, 9), {9, 1, 2, 9, 9});
  check("pad_edge", pad_edge(ramp({3}), {2}, {1}), {1, 1, 1, 2, 3, 3});
  check("pad_reflect", pad_reflect(ramp({3}), {2}, {1}), {3, 2, 1, 2, 3, 2});
  check("unfold", unfold(x, 0, 2, 2, 2), {1, 3, 3, 5});
  check("tile", tile(ramp({1, 2}), {2, 2}), {1, 2, 1, 2, 1, 2, 1, 2});
  check("repeat_interleave", repeat_interleave(ramp({2}), 2, 0), {1, 1, 2, 2});
  check("stack", stack({ramp({2}), ramp({2})}, 1), {1, 1, 2, 2});
  check("transpose", transpose(ramp({2, 3})), {1, 4, 2, 5, 3, 6});
  check("select", select(ramp({2, 3}), 1, -1), {3, 6});
  check("split", split(x, {1, 2, 3}, 0)[1], {2, 3});
}

TEST_CASE("reduction values") {
  const Tensor x = f32({2, 3}, {1, 5, 5, 4, 2, 2});
  check("argmax", argmax(x, 1), {1, 0});
  check("argmax last", argmax(x, 1, false, true), {2, 0});
  check("argmin", argmin(x, 1), {0, 1});
  check("mean", mean(x, {1}), {11.0 / 3, 8.0 / 3});
  check("variance", variance(ramp({4}), {0}), {1.25});
  check("cumsum", cumsum(ramp({4}), 0), {1, 3, 6, 10});
  check("cumsum exclusive", cumsum(ramp({4}), 0, true), {0, 1, 3, 6});
  check("cumsum reverse", cumsum(ramp({4}), 0, false, true), {10, 9, 7, 4});
  check("softmax", softmax(ramp({3})), {0.0900306, 0.2447285, 0.6652410});
  check("log_softmax", log_softmax(ramp({3})), {-2.4076059, -1.4076059, -0.4076059});
  check("logsumexp", logsumexp(ramp({3}), {0}), {3.4076059});
  check("any", cast(any(greater(x, 4), {1}), DType::kF32), {1, 0});
  check("all", cast(all(greater(x, 1), {1}), DType::kF32), {0, 1});
}

TEST_CASE("linear and indexing values") {
  check("matmul", matmul(ramp({2, 2}), ramp({2, 2})), {7, 10, 15, 22});
  check("linear", linear(ramp({1, 2}), ramp({2, 2}), f32({2}, {10, 20})), {15, 31});
  check("matmul row and column", matmul(ramp({3}), ramp({3})), {14});
  check("gather", gather(ramp({3}), constant_i64({4}, {2, 0, -1, 9}), 0), {3, 1, 3, 3});
  check("gather axis 1", gather(ramp({2, 3}), constant_i64({2}, {2, 0}), 1), {3, 1, 6, 4});
  check("gather_elements", gather_elements(ramp({2, 3}), constant_i64({2, 2}, {2, 0, -1, 1}), 1), {3, 1, 6, 5});
  check("gather_elements axis 0", gather_elements(ramp({2, 2}), constant_i64({1, 2}, {1, 0}), 0), {3, 2});
  check("one_hot", one_hot(constant_i64({2}, {1, -1}), 3, DType::kF32), {0, 1, 0, 0, 0, 1});
}

TEST_CASE("losses") {
  const Tensor x = f32({2, 3}, {-1, -2, -3, -4, -5, -6}), weight = f32({3}, {1, 2, 10});
  const Tensor target = constant_i64({2}, {2, 0});
  check("nll", nll_loss(x, target), {3.5});
  check("nll sum", nll_loss(x, target, {}, {.reduction = LossReduction::kSum}), {7});
  check("nll of each", nll_loss(x, target, {}, {.reduction = LossReduction::kNone}), {3, 4});
  check("nll weighted", nll_loss(x, target, weight), {34.0 / 11});
  check("nll ignored", nll_loss(x, target, weight, {.ignore_index = 2}), {4});
  check("nll ignored, no class", nll_loss(x, constant_i64({2}, {-100, 1}), {}, {.ignore_index = -100}), {5});
  const Tensor infinite = f32({2, 2}, {-INFINITY, -1, -2, -3});
  check("nll ignored, infinite", nll_loss(infinite, constant_i64({2}, {0, 1}), {}, {.ignore_index = 0}), {3});
  const Tensor pixels = f32({1, 2, 2}, {-1, -2, -3, -4});  // two classes, two pixels
  check("nll of pixels", nll_loss(pixels, constant_i64({1, 2}, {1, 0}), {}, {.reduction = LossReduction::kNone}),
        {3, 2});
  check("cross_entropy", cross_entropy(f32({1, 2}, {5, 5}), constant_i64({1}, {1})), {0.6931472});
}

TEST_CASE("convolution and pooling values") {
  check("conv", conv(ramp({1, 1, 4}), f32({1, 1, 2}, {1, 10})), {21, 32, 43});
  check("conv stride, pad, bias",
        conv(ramp({1, 1, 4}), f32({1, 1, 2}, {1, 10}), f32({1}, {100}), {.strides = {2}, .pads_begin = {1}}),
        {110, 132});
  check("conv dilated", conv(ramp({1, 1, 4}), f32({1, 1, 2}, {1, 10}), {}, {.dilations = {2}}), {31, 42});
  check("conv grouped", conv(ramp({1, 2, 2}), f32({2, 1, 1}, {10, 100}), {}, {.groups = 2}), {10, 20, 300, 400});
  check("conv channels", conv(ramp({1, 2, 2}), f32({1, 2, 1}, {10, 100})), {310, 420});
  check("conv 2d", conv(ramp({1, 1, 3, 3}), f32({1, 1, 2, 2}, {1, 0, 0, 1})), {6, 8, 12, 14});
  check("conv_transpose", conv_transpose(ramp({1, 1, 3}), f32({1, 1, 2}, {1, 10})), {1, 12, 23, 30});
  check("conv_transpose stride", conv_transpose(ramp({1, 1, 2}), f32({1, 1, 3}, {1, 10, 100}), {}, {.strides = {2}}),
        {1, 10, 102, 20, 200});
  check("conv_transpose pads",
        conv_transpose(ramp({1, 1, 2}), f32({1, 1, 3}, {1, 10, 100}), {},
                       {.strides = {2}, .pads_begin = {1}, .pads_end = {1}}, {1}),
        {10, 102, 20, 200});
  check("conv_transpose channels", conv_transpose(ramp({1, 2, 1}), f32({2, 2, 1}, {1, 2, 10, 20})), {21, 42});
  check("max_pool",
        max_pool(f32({1, 1, 4}, {-1, -5, -3, -2}), {.kernel = {2}, .strides = {2}, .pads_begin = {1}, .pads_end = {1}}),
        {-1, -3, -2});
  check("max_pool ceil", max_pool(ramp({1, 1, 5}), {.kernel = {2}, .strides = {2}, .ceil_mode = true}), {2, 4, 5});
  check("avg_pool", avg_pool(ramp({1, 1, 4}), {.kernel = {2}, .strides = {2}}), {1.5, 3.5});
  check("avg_pool pad", avg_pool(ramp({1, 1, 4}), {.kernel = {2}, .strides = {2}, .pads_begin = {1}, .pads_end = {1}}),
        {1, 2.5, 4});
  check("avg_pool counts pad",
        avg_pool(ramp({1, 1, 4}),
                 {.kernel = {2}, .strides = {2}, .pads_begin = {1}, .pads_end = {1}, .count_include_pad = true}),
        {0.5, 2.5, 2});
  check("global_avg_pool", global_avg_pool(ramp({1, 2, 2})), {1.5, 3.5});
}

TEST_CASE("normalisation and recurrent values") {
  check("layer_norm", layer_norm(f32({1, 2}, {1, 3}), f32({2}, {2, 2}), f32({2}, {5, 5}), -1, 0), {3, 7});
  check("rms_norm", rms_norm(f32({1, 2}, {3, 4}), f32({2}, {5, 5}), -1, 0),
        {15 / std::sqrt(12.5), 20 / std::sqrt(12.5)});
  check("batch_norm",
        batch_norm(ramp({1, 2, 1}), f32({2}, {1, 10}), f32({2}, {0, 1}), f32({2}, {0, 1}), f32({2}, {4, 1}), 0),
        {0.5, 11});
  check("group_norm", group_norm(f32({1, 4, 1}, {1, 3, 5, 9}), 2, {}, {}, 0), {-1, 1, -1, 1});
  auto sigma = [](double v) { return 1 / (1 + std::exp(-v)); };
  // One unit, gates i, f, c, o get 1, 2, 3, 4 times x (= 1) plus 0.5 times h (= 1); c = 2.
  const double c = sigma(2.5) * 2 + sigma(1.5) * std::tanh(3.5), h = sigma(4.5) * std::tanh(c);
  const LstmTensors before = {f32({1, 1}, {1}), f32({1, 1}, {2})};
  const Tensor r = f32({4, 1}, {0.5, 0.5, 0.5, 0.5});
  check("lstm_cell h",
        lstm_cell(f32({1, 1}, {1}), before, f32({4, 1}, {1, 2, 3, 4}), r, {}, GateOrder::kInputForgetCellOutput).h,
        {h});
  check("lstm_cell c, ONNX order",
        lstm_cell(f32({1, 1}, {1}), before, f32({4, 1}, {1, 4, 2, 3}), r, {}, GateOrder::kInputOutputForgetCell).c,
        {c});
  const LstmResult forward = lstm(f32({2, 1, 1}, {1, 7}), before, f32({4, 1}, {1, 2, 3, 4}), r, {});
  CHECK(evaluated(forward.y)[0] == Approx(h));
  CHECK(evaluated(forward.y)[1] == Approx(evaluated(forward.last.h)[0]));
  const LstmResult backward =
      lstm(f32({2, 1, 1}, {7, 1}), before, f32({4, 1}, {1, 2, 3, 4}), r, {}, {.steps = {.reverse = true}});
  CHECK(evaluated(backward.y)[1] == Approx(h));
  CHECK(evaluated(backward.y)[0] == Approx(evaluated(forward.y)[1]));
  const double z = sigma(1 + 0.5), reset = sigma(2 + 0.5);
  check(
      "gru_cell",
      gru_cell(f32({1, 1}, {1}), f32({1, 1}, {1}), f32({3, 1}, {1, 2, 3}), f32({3, 1}, {0.5, 0.5, 0.5}), {}, {}, true),
      {(1 - z) * std::tanh(3 + reset * 0.5) + z});
}

TEST_CASE("fp8: casts overflow or saturate, max_pool's padding is below everything") {
  const float inf = INFINITY;
  const Tensor x = f32({6}, {464.0F, 465.0F, -1e6F, inf, -inf, 0.3F});
  check("e4m3 saturates", saturating_cast(x, DType::kF8E4M3), {448, 448, -448, 448, -448, 0.3125});
  check("e5m2 saturates", saturating_cast(x, DType::kF8E5M2), {448, 448, -57344, 57344, -57344, 0.3125});
  const std::vector<double> plain = evaluated(cast(x, DType::kF8E4M3));
  CHECK((plain[0] == 448 && std::isnan(plain[1]) && std::isnan(plain[2]) && std::isnan(plain[3])));
  const std::vector<double> wide = evaluated(cast(x, DType::kF8E5M2));
  CHECK((wide[0] == 448 && wide[2] == -inf && wide[3] == inf));
  const Tensor nan = saturating_cast(f32({1}, {NAN}), DType::kF8E4M3);
  CHECK(std::isnan(evaluated(nan)[0]));
  const Tensor whole = constant_i64({4}, {447, -500, 100000, -100000});
  check("integers saturate", saturating_cast(whole, DType::kF8E4M3), {448, -448, 448, -448});
  check("integers saturate wider", saturating_cast(whole, DType::kF8E5M2), {448, -512, 57344, -57344});
  check("what cannot exceed", saturating_cast(cast(whole, DType::kI8), DType::kF8E4M3), {-64, 12, -96, 96});
  check("e4m3 to e5m2", saturating_cast(cast(f32({2}, {448, -0.75F}), DType::kF8E4M3), DType::kF8E5M2), {448, -0.75});
  check("e5m2 to e4m3", saturating_cast(cast(f32({2}, {57344, -inf}), DType::kF8E5M2), DType::kF8E4M3), {448, -448});
  CHECK_THROWS_AS(saturating_cast(x, DType::kF16), JitError);

  const Tensor image = cast(f32({1, 1, 2, 2}, {-448, -300, -200, -100}), DType::kF8E4M3);
  PoolConfig pool;
  pool.kernel = {2, 2};
  pool.pads_begin = {1, 1};
  pool.pads_end = {0, 0};
  pool.strides = {2, 2};
  check("max_pool", max_pool(image, pool), {-448});
}

TEST_CASE("exp2 and log2") {
  check("exp2", exp2(f32({4}, {0, 3, -1, 0.5F})), {1, 8, 0.5, 1.4142135});
  check("log2", log2(f32({4}, {1, 8, 0.25F, 3})), {0, 3, -2, 1.5849625});
  check("exp2 of integers", exp2(constant_i64({2}, {4, -2})), {16, 0.25});
}
