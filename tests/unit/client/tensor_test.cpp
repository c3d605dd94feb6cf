#include "hearth/tensor.h"

#include <catch2/catch.hpp>

#include "hearth/ops.h"

using namespace hearth;
using namespace hearth::client;

namespace {

Tensor floats(Shape shape) { return input("x", std::move(shape), DType::kF32); }
Tensor ints(Shape shape) { return input("i", std::move(shape), DType::kI32); }
const Dim n = Dim::variable("n", 2, 100);

}  // namespace

TEST_CASE("shapes and dtypes are known at once") {
  struct Row {
    const char* what;
    Tensor value;
    DType dtype;
    Shape shape;
  };
  const Tensor u8 = input("u", {4}, DType::kU8), b = input("b", {4}, DType::kBool);
  const Tensor f16 = input("h", {4}, DType::kF16), bf16 = input("bf", {4}, DType::kBF16);
  const Row table[] = {
      {"broadcast", floats({3, 1, 4}) + floats({5, 1}), DType::kF32, {3, 5, 4}},
      {"scalar is weak", f16 * 2.5, DType::kF16, {4}},
      {"float scalar lifts integers", ints({4}) + 0.5, DType::kF32, {4}},
      {"int with float", ints({4}) * f16, DType::kF16, {4}},
      {"f16 with bf16", f16 + bf16, DType::kF32, {4}},
      {"u8 with i32", u8 + ints({4}), DType::kI32, {4}},
      {"bool with bool", b + b, DType::kI32, {4}},
      {"bool with 1", b + 1, DType::kI32, {4}},
      {"true division", ints({4}) / ints({4}), DType::kF32, {4}},
      {"scalar on the left", 1.0 - floats({2}), DType::kF32, {2}},
      {"negate", -floats({2}), DType::kF32, {2}},
      {"compare", greater(ints({3}), 1), DType::kBool, {3}},
      {"where", where(b, u8, 3), DType::kU8, {4}},
      {"sqrt of ints", sqrt(ints({3})), DType::kF32, {3}},
      {"floor of ints", floor(ints({3})), DType::kI32, {3}},
      {"floor_mod of floats", floor_mod(floats({3}), 2), DType::kF32, {3}},
      {"cast to bool", cast(floats({3}), DType::kBool), DType::kBool, {3}},
      {"bitcast", bitcast(floats({3}), DType::kI32), DType::kI32, {3}},
      {"gelu", gelu(floats({3})), DType::kF32, {3}},
      {"clip", clip(u8, 1, 5), DType::kU8, {4}},
      {"reshape -1", reshape(floats({2, 3, 4}), {-1, 6}), DType::kF32, {4, 6}},
      {"reshape symbolic", reshape(floats({n, 8}), {n * 2, -1}), DType::kF32, {n * 2, 4}},
      {"reshape infers symbolic", reshape(floats({n, 3, 4}), {-1, 12}), DType::kF32, {n, 12}},
      {"flatten", flatten(floats({2, 3, 4}), 1), DType::kF32, {2, 12}},
      {"expand", expand(floats({1, 3}), {5, 2, 3}), DType::kF32, {5, 2, 3}},
      {"permute", permute(floats({2, 3, 4}), {2, 0, 1}), DType::kF32, {4, 2, 3}},
      {"transpose", transpose(floats({2, 3, 4})), DType::kF32, {2, 4, 3}},
      {"squeeze all", squeeze(floats({1, 3, 1})), DType::kF32, {3}},
      {"squeeze one", squeeze(floats({1, 3, 1}), {-1}), DType::kF32, {1, 3}},
      {"unsqueeze", unsqueeze(floats({3}), {0, -1}), DType::kF32, {1, 3, 1}},
      {"pad", pad(floats({3, 4}), {1, 0}, {2, 5}), DType::kF32, {6, 9}},
      {"pad crops", pad(floats({3, 4}), {-1, 0}, {0, -2}), DType::kF32, {2, 2}},
      {"pad_edge", pad_edge(floats({3}), {2}, {1}), DType::kF32, {6}},
      {"pad_reflect", pad_reflect(floats({3}), {2}, {1}), DType::kF32, {6}},
      {"shrink symbolic", shrink(floats({n}), {1}, {n}), DType::kF32, {n - 1}},
      {"slice", slice(floats({10}), {{.axis = 0, .begin = 1, .end = 9, .step = 3}}), DType::kF32, {3}},
      {"slice from the end", slice(floats({10}), {{.axis = 0, .begin = -3}}), DType::kF32, {3}},
      {"slice backwards",
       slice(floats({10}), {{.axis = 0, .begin = Slice::kEnd, .end = Slice::kBeforeBegin, .step = -3}}),
       DType::kF32,
       {4}},
      {"slice clamps", slice(floats({10}), {{.axis = 0, .begin = 5, .end = 99}}), DType::kF32, {5}},
      {"slice empty", slice(floats({10}), {{.axis = 0, .begin = 7, .end = 3}}), DType::kF32, {0}},
      {"slice symbolic", slice(floats({n}), {{.axis = 0, .begin = 1}}), DType::kF32, {n - 1}},
      {"select", select(floats({2, 3, 4}), 1, -1), DType::kF32, {2, 4}},
      {"unfold", unfold(floats({2, 10}), 1, 3, 2, 2), DType::kF32, {2, 3, 3}},
      {"cat", cat({floats({2, 3}), floats({2, 5})}, 1), DType::kF32, {2, 8}},
      {"cat promotes", cat({u8, ints({3})}, 0), DType::kI32, {7}},
      {"stack", stack({floats({2, 3}), floats({2, 3})}, 1), DType::kF32, {2, 2, 3}},
      {"split", split(floats({2, 9}), {2, 3, 4}, 1)[2], DType::kF32, {2, 4}},
      {"split_every", split_every(floats({7}), 3, 0)[2], DType::kF32, {1}},
      {"tile", tile(floats({2, 3}), {2, 3}), DType::kF32, {4, 9}},
      {"repeat_interleave", repeat_interleave(floats({2, 3}), 2, 0), DType::kF32, {4, 3}},
      {"reduce all", reduce_sum(floats({2, 3})), DType::kF32, {}},
      {"reduce keepdims", reduce_max(floats({2, 3}), {-1}, true), DType::kF32, {2, 1}},
      {"reduce widens", reduce_sum(u8), DType::kI32, {}},
      {"mean", mean(floats({2, 3, 4}), {0, 2}), DType::kF32, {3}},
      {"variance", variance(floats({2, 3}), {1}), DType::kF32, {2}},
      {"any", any(b), DType::kBool, {}},
      {"argmax", argmax(floats({2, 3}), 1), DType::kI64, {2}},
      {"cumsum", cumsum(floats({2, 3}), 1, true, true), DType::kF32, {2, 3}},
      {"softmax", softmax(floats({n, 3})), DType::kF32, {n, 3}},
      {"logsumexp", logsumexp(floats({2, 3}), {1}), DType::kF32, {2}},
      {"matmul", matmul(floats({2, 3}), floats({3, 5})), DType::kF32, {2, 5}},
      {"matmul batch", matmul(floats({7, 1, 2, 3}), floats({4, 3, 5})), DType::kF32, {7, 4, 2, 5}},
      {"matmul one matrix", matmul(floats({7, 2, 3}), floats({3, 5})), DType::kF32, {7, 2, 5}},
      {"matmul row", matmul(floats({3}), floats({3, 5})), DType::kF32, {5}},
      {"matmul column", matmul(floats({7, 2, 3}), floats({3})), DType::kF32, {7, 2}},
      {"matmul dot", matmul(floats({3}), floats({3})), DType::kF32, {}},
      {"matmul symbolic", matmul(floats({n, 3}), floats({3, 5})), DType::kF32, {n, 5}},
      {"linear", linear(floats({n, 4, 3}), floats({5, 3}), floats({5})), DType::kF32, {n, 4, 5}},
      {"gather", gather(floats({10, 3}), ints({2, 4}), 0), DType::kF32, {2, 4, 3}},
      {"gather_elements", gather_elements(floats({2, 5}), ints({2, 3}), 1), DType::kF32, {2, 3}},
      {"one_hot", one_hot(ints({2}), 5, DType::kF32), DType::kF32, {2, 5}},
      {"conv",
       conv(floats({2, 4, 9, 9}), floats({6, 4, 3, 3}), floats({6}),
            {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}}),
       DType::kF32,
       {2, 6, 5, 5}},
      {"conv 1d grouped",
       conv(floats({n, 4, 16}), floats({8, 2, 3}), {}, {.dilations = {2}, .groups = 2}),
       DType::kF32,
       {n, 8, 12}},
      {"conv_transpose",
       conv_transpose(floats({1, 4, 5}), floats({4, 6, 3}), {}, {.strides = {2}, .pads_begin = {1}, .pads_end = {1}},
                      {1}),
       DType::kF32,
       {1, 6, 10}},
      {"max_pool", max_pool(floats({1, 3, 8, 8}), {.kernel = {2, 2}, .strides = {2, 2}}), DType::kF32, {1, 3, 4, 4}},
      {"max_pool ceil",
       max_pool(floats({1, 3, 7}), {.kernel = {2}, .strides = {2}, .ceil_mode = true}),
       DType::kF32,
       {1, 3, 4}},
      {"avg_pool padded",
       avg_pool(floats({1, 3, 7}), {.kernel = {3}, .strides = {2}, .pads_begin = {1}, .pads_end = {1}}),
       DType::kF32,
       {1, 3, 4}},
      {"global_avg_pool", global_avg_pool(floats({2, 3, 7, 7})), DType::kF32, {2, 3, 1, 1}},
      {"layer_norm", layer_norm(floats({n, 8}), floats({8}), floats({8})), DType::kF32, {n, 8}},
      {"batch_norm",
       batch_norm(floats({n, 3, 4}), floats({3}), floats({3}), floats({3}), floats({3})),
       DType::kF32,
       {n, 3, 4}},
      {"group_norm", group_norm(floats({2, 6, 4}), 3, floats({6}), floats({6})), DType::kF32, {2, 6, 4}},
      {"lstm",
       lstm(floats({5, 2, 3}), {floats({2, 4}), floats({2, 4})}, floats({16, 3}), floats({16, 4}), floats({16}),
            {.order = GateOrder::kInputForgetCellOutput})
           .y,
       DType::kF32,
       {5, 2, 4}},
      {"gru_cell",
       gru_cell(floats({2, 3}), floats({2, 4}), floats({12, 3}), floats({12, 4}), floats({12}), floats({12}), true),
       DType::kF32,
       {2, 4}},
      {"arange", arange(n), DType::kI64, {n}},
  };
  for (const Row& row : table) {
    INFO(row.what << ": " << to_string(row.value.shape()));
    CHECK(row.value.dtype() == row.dtype);
    CHECK(row.value.shape() == row.shape);
  }
}

TEST_CASE("promotion is symmetric and idempotent") {
  for (int a = 1; a <= 15; ++a) {
    for (int b = 1; b <= 15; ++b) {
      const DType x = static_cast<DType>(a), y = static_cast<DType>(b);
      CHECK(promote(x, y) == promote(y, x));
      CHECK(promote(x, promote(x, y)) == promote(x, y));
    }
  }
}

TEST_CASE("constants keep their bytes through reshapes") {
  CHECK(constant_i64({3}, {1, 2, 3}).constant_bytes()->size() == 24);
  CHECK(reshape(constant_i64({4}, {1, 2, 3, 4}), {2, 2}).constant_bytes()->size() == 32);
  CHECK(full({2, 2}, 1.5, DType::kF32).constant_bytes()->size() == 16);
  CHECK_FALSE((constant_i64({1}, {1}) + 1).constant_bytes().has_value());
}

TEST_CASE("a deep graph is released without recursion") {
  Tensor x = floats({1});
  for (int i = 0; i < 300000; ++i) x = neg(x);
  const std::weak_ptr<const Node> last = x.node();
  x = Tensor();
  CHECK(last.expired());
}
