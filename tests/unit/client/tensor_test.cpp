#include "client/tensor/tensor.h"

#include <catch2/catch.hpp>

#include "client/ops.h"

using namespace hearth;
using namespace hearth::client;

namespace {

Tensor f32(Shape shape) { return input("x", std::move(shape), DType::kF32); }
Tensor i32(Shape shape) { return input("i", std::move(shape), DType::kI32); }
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
      {"broadcast", f32({3, 1, 4}) + f32({5, 1}), DType::kF32, {3, 5, 4}},
      {"scalar is weak", f16 * 2.5, DType::kF16, {4}},
      {"float scalar lifts integers", i32({4}) + 0.5, DType::kF32, {4}},
      {"int with float", i32({4}) * f16, DType::kF16, {4}},
      {"f16 with bf16", f16 + bf16, DType::kF32, {4}},
      {"u8 with i32", u8 + i32({4}), DType::kI32, {4}},
      {"bool with bool", b + b, DType::kI32, {4}},
      {"bool with 1", b + 1, DType::kI32, {4}},
      {"true division", i32({4}) / i32({4}), DType::kF32, {4}},
      {"scalar on the left", 1.0 - f32({2}), DType::kF32, {2}},
      {"negate", -f32({2}), DType::kF32, {2}},
      {"compare", greater(i32({3}), 1), DType::kBool, {3}},
      {"where", where(b, u8, 3), DType::kU8, {4}},
      {"sqrt of ints", sqrt(i32({3})), DType::kF32, {3}},
      {"floor of ints", floor(i32({3})), DType::kI32, {3}},
      {"floor_mod of floats", floor_mod(f32({3}), 2), DType::kF32, {3}},
      {"cast to bool", cast(f32({3}), DType::kBool), DType::kBool, {3}},
      {"bitcast", bitcast(f32({3}), DType::kI32), DType::kI32, {3}},
      {"gelu", gelu(f32({3})), DType::kF32, {3}},
      {"clip", clip(u8, 1, 5), DType::kU8, {4}},
      {"reshape -1", reshape(f32({2, 3, 4}), {-1, 6}), DType::kF32, {4, 6}},
      {"reshape symbolic", reshape(f32({n, 8}), {n * 2, -1}), DType::kF32, {n * 2, 4}},
      {"reshape infers symbolic", reshape(f32({n, 3, 4}), {-1, 12}), DType::kF32, {n, 12}},
      {"flatten", flatten(f32({2, 3, 4}), 1), DType::kF32, {2, 12}},
      {"expand", expand(f32({1, 3}), {5, 2, 3}), DType::kF32, {5, 2, 3}},
      {"permute", permute(f32({2, 3, 4}), {2, 0, 1}), DType::kF32, {4, 2, 3}},
      {"transpose", transpose(f32({2, 3, 4})), DType::kF32, {2, 4, 3}},
      {"squeeze all", squeeze(f32({1, 3, 1})), DType::kF32, {3}},
      {"squeeze one", squeeze(f32({1, 3, 1}), {-1}), DType::kF32, {1, 3}},
      {"unsqueeze", unsqueeze(f32({3}), {0, -1}), DType::kF32, {1, 3, 1}},
      {"pad", pad(f32({3, 4}), {1, 0}, {2, 5}), DType::kF32, {6, 9}},
      {"pad crops", pad(f32({3, 4}), {-1, 0}, {0, -2}), DType::kF32, {2, 2}},
      {"pad_edge", pad_edge(f32({3}), {2}, {1}), DType::kF32, {6}},
      {"pad_reflect", pad_reflect(f32({3}), {2}, {1}), DType::kF32, {6}},
      {"shrink symbolic", shrink(f32({n}), {1}, {n}), DType::kF32, {n - 1}},
      {"slice", slice(f32({10}), {{.axis = 0, .begin = 1, .end = 9, .step = 3}}), DType::kF32, {3}},
      {"slice from the end", slice(f32({10}), {{.axis = 0, .begin = -3}}), DType::kF32, {3}},
      {"slice backwards",
       slice(f32({10}), {{.axis = 0, .begin = Slice::kEnd, .end = Slice::kBeforeBegin, .step = -3}}),
       DType::kF32,
       {4}},
      {"slice clamps", slice(f32({10}), {{.axis = 0, .begin = 5, .end = 99}}), DType::kF32, {5}},
      {"slice empty", slice(f32({10}), {{.axis = 0, .begin = 7, .end = 3}}), DType::kF32, {0}},
      {"slice symbolic", slice(f32({n}), {{.axis = 0, .begin = 1}}), DType::kF32, {n - 1}},
      {"select", select(f32({2, 3, 4}), 1, -1), DType::kF32, {2, 4}},
      {"unfold", unfold(f32({2, 10}), 1, 3, 2, 2), DType::kF32, {2, 3, 3}},
      {"cat", cat({f32({2, 3}), f32({2, 5})}, 1), DType::kF32, {2, 8}},
      {"cat promotes", cat({u8, i32({3})}, 0), DType::kI32, {7}},
      {"stack", stack({f32({2, 3}), f32({2, 3})}, 1), DType::kF32, {2, 2, 3}},
      {"split", split(f32({2, 9}), {2, 3, 4}, 1)[2], DType::kF32, {2, 4}},
      {"split_every", split_every(f32({7}), 3, 0)[2], DType::kF32, {1}},
      {"tile", tile(f32({2, 3}), {2, 3}), DType::kF32, {4, 9}},
      {"repeat_interleave", repeat_interleave(f32({2, 3}), 2, 0), DType::kF32, {4, 3}},
      {"reduce all", reduce_sum(f32({2, 3})), DType::kF32, {}},
      {"reduce keepdims", reduce_max(f32({2, 3}), {-1}, true), DType::kF32, {2, 1}},
      {"reduce widens", reduce_sum(u8), DType::kI32, {}},
      {"mean", mean(f32({2, 3, 4}), {0, 2}), DType::kF32, {3}},
      {"variance", variance(f32({2, 3}), {1}), DType::kF32, {2}},
      {"any", any(b), DType::kBool, {}},
      {"argmax", argmax(f32({2, 3}), 1), DType::kI64, {2}},
      {"cumsum", cumsum(f32({2, 3}), 1, true, true), DType::kF32, {2, 3}},
      {"softmax", softmax(f32({n, 3})), DType::kF32, {n, 3}},
      {"logsumexp", logsumexp(f32({2, 3}), {1}), DType::kF32, {2}},
      {"matmul", matmul(f32({2, 3}), f32({3, 5})), DType::kF32, {2, 5}},
      {"matmul batch", matmul(f32({7, 1, 2, 3}), f32({4, 3, 5})), DType::kF32, {7, 4, 2, 5}},
      {"matmul one matrix", matmul(f32({7, 2, 3}), f32({3, 5})), DType::kF32, {7, 2, 5}},
      {"matmul row", matmul(f32({3}), f32({3, 5})), DType::kF32, {5}},
      {"matmul column", matmul(f32({7, 2, 3}), f32({3})), DType::kF32, {7, 2}},
      {"matmul dot", matmul(f32({3}), f32({3})), DType::kF32, {}},
      {"matmul symbolic", matmul(f32({n, 3}), f32({3, 5})), DType::kF32, {n, 5}},
      {"linear", linear(f32({n, 4, 3}), f32({5, 3}), f32({5})), DType::kF32, {n, 4, 5}},
      {"gather", gather(f32({10, 3}), i32({2, 4}), 0), DType::kF32, {2, 4, 3}},
      {"gather_elements", gather_elements(f32({2, 5}), i32({2, 3}), 1), DType::kF32, {2, 3}},
      {"one_hot", one_hot(i32({2}), 5, DType::kF32), DType::kF32, {2, 5}},
      {"conv",
       conv(f32({2, 4, 9, 9}), f32({6, 4, 3, 3}), f32({6}),
            {.strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}}),
       DType::kF32,
       {2, 6, 5, 5}},
      {"conv 1d grouped",
       conv(f32({n, 4, 16}), f32({8, 2, 3}), {}, {.dilations = {2}, .groups = 2}),
       DType::kF32,
       {n, 8, 12}},
      {"conv_transpose",
       conv_transpose(f32({1, 4, 5}), f32({4, 6, 3}), {}, {.strides = {2}, .pads_begin = {1}, .pads_end = {1}}, {1}),
       DType::kF32,
       {1, 6, 10}},
      {"max_pool", max_pool(f32({1, 3, 8, 8}), {.kernel = {2, 2}, .strides = {2, 2}}), DType::kF32, {1, 3, 4, 4}},
      {"max_pool ceil",
       max_pool(f32({1, 3, 7}), {.kernel = {2}, .strides = {2}, .ceil_mode = true}),
       DType::kF32,
       {1, 3, 4}},
      {"avg_pool padded",
       avg_pool(f32({1, 3, 7}), {.kernel = {3}, .strides = {2}, .pads_begin = {1}, .pads_end = {1}}),
       DType::kF32,
       {1, 3, 4}},
      {"global_avg_pool", global_avg_pool(f32({2, 3, 7, 7})), DType::kF32, {2, 3, 1, 1}},
      {"layer_norm", layer_norm(f32({n, 8}), f32({8}), f32({8})), DType::kF32, {n, 8}},
      {"batch_norm", batch_norm(f32({n, 3, 4}), f32({3}), f32({3}), f32({3}), f32({3})), DType::kF32, {n, 3, 4}},
      {"group_norm", group_norm(f32({2, 6, 4}), 3, f32({6}), f32({6})), DType::kF32, {2, 6, 4}},
      {"lstm",
       lstm(f32({5, 2, 3}), {f32({2, 4}), f32({2, 4})}, f32({16, 3}), f32({16, 4}), f32({16}),
            {.order = GateOrder::kInputForgetCellOutput})
           .y,
       DType::kF32,
       {5, 2, 4}},
      {"gru_cell",
       gru_cell(f32({2, 3}), f32({2, 4}), f32({12, 3}), f32({12, 4}), f32({12}), f32({12}), true),
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
  Tensor x = f32({1});
  for (int i = 0; i < 300000; ++i) x = neg(x);
  const std::weak_ptr<const Node> last = x.node();
  x = Tensor();
  CHECK(last.expired());
}
