#include <catch2/catch.hpp>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "tests/unit/client/error_rows.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::client::error_rows;

TEST_CASE("errors name the op, the values, the expectation and the caller's line") {
  const int line = __LINE__ + 1;
  const std::string text = message([] { f32({2, 3}) + f32({4}); });
  CHECK_THAT(text, Catch::Contains("add: shapes [2, 3] and [4] do not broadcast"));
  CHECK_THAT(text, Catch::Contains("3 meets 4"));
  CHECK_THAT(text, Catch::Contains("client/error_test.cpp:" + std::to_string(line)));
}

TEST_CASE("an op built from others reports itself and the user's line") {
  const int line = __LINE__ + 1;
  const std::string text = message([] { conv(f32({1, 3, 8}), f32({4, 3, 9})); });
  CHECK_THAT(text, Catch::StartsWith("conv: "));
  CHECK_THAT(text, Catch::Contains("window spans 9"));
  CHECK_THAT(text, Catch::Contains("error_test.cpp:" + std::to_string(line)));
}

TEST_CASE("scopes name what an importer records") {
  const ScopedLocation scope("node 'fc' (Gemm)");
  CHECK_THAT(message([] { matmul(f32({2, 3}), f32({4, 5})); }), Catch::Contains("node 'fc' (Gemm)"));
  CHECK(f32({1}).node()->provenance == "node 'fc' (Gemm)");
}

TEST_CASE("each wrong argument gets its own message") {
  const Dim n = Dim::variable("n", 0, 9);
  check_rows({
      {"empty tensor", [] { relu(Tensor()); }},
      {"axis 2 is out of range for 2 axes", [] { softmax(f32({2, 3}), 2); }},
      {"axis 1 is given twice", [] { reduce_sum(f32({2, 3}), {1, -1}); }},
      {"cannot reshape [2, 3] (6 elements) to [4, 2]", [] { reshape(f32({2, 3}), {4, 2}); }},
      {"more than one -1", [] { reshape(f32({2, 3}), {-1, -1}); }},
      {"does not broadcast", [] { expand(f32({2}), {3}); }},
      {"axes has 1 entries", [] { permute(f32({2, 3}), {0}); }},
      {"expected 1", [] { squeeze(f32({2, 3}), {0}); }},
      {"not provably inside axis 0", [] { shrink(f32({3}), {0}, {4}); }},
      {"expected all >= 1", [] { unfold(f32({3}), 0, 0); }},
      {"step 0", [] { slice(f32({3}), {{.axis = 0, .step = 0}}); }},
      {"expected equal lengths except along axis 0", [] { cat({f32({2, 3}), f32({2, 4})}, 0); }},
      {"do not add up", [] { split(f32({5}), {2, 2}, 0); }},
      {"inner lengths 3 and 4", [] { matmul(f32({2, 3}), f32({4, 5})); }},
      {"expected an integer dtype", [] { gather(f32({3}), f32({2})); }},
      {"expected integers", [] { trunc_div(f32({3}), 2); }},
      {"expected bool", [] { where(f32({3}), f32({3}), 1); }},
      {"not representable as u8", [] { input("u", {3}, DType::kU8) + 300; }},
      {"not representable as i32", [] { full({2}, 1.5, DType::kI32); }},
      {"as wide as i8", [] { bitcast(f32({3}), DType::kI8); }},
      {"holds 4 bytes; f32 [2] needs 8", [] { parameter("w", {2}, DType::kF32, own_bytes("1234")); }},
      {"symbolic shape", [&] { parameter("w", {n}, DType::kF32, own_bytes("1234")); }},
      {"the name is empty", [] { input("", {2}, DType::kF32); }},
      {"may be empty", [&] { reduce_max(f32({n})); }},
      {"dim_value: dtype is bool", [&] { dim_value(n, DType::kBool); }},
      {"do not all fit i8", [&] { dim_value(n + 200, DType::kI8); }},
      {"may have no elements to average; raise the lower bounds", [&] { mean(f32({n})); }},
      {"expected x's channels", [] { conv(f32({1, 3, 8}), f32({4, 2, 3})); }},
      {"'strides' has 1 entries; expected 2", [] { conv(f32({1, 1, 8, 8}), f32({1, 1, 3, 3}), {}, {.strides = {1}}); }},
      {"expected the shape [4]", [] { conv(f32({1, 3, 8}), f32({4, 3, 3}), f32({3})); }},
      {"expected floats [n, classes, ...]", [] { nll_loss(f32({3}), constant_i64({3}, {0, 0, 0})); }},
      {"but its second", [] { cross_entropy(f32({2, 3}), constant_i64({3}, {0, 0, 0})); }},
      {"each of the 3 classes", [] { nll_loss(f32({2, 3}), constant_i64({2}, {0, 0}), f32({2})); }},
      {"may be negative", [&] { input("x", {n - 5}, DType::kF32); }},
      {"[N, H]",
       [] {
         lstm_cell(f32({2, 3}), {f32({2, 4}), f32({2, 4})}, f32({15, 3}), f32({16, 4}), {},
                   GateOrder::kInputForgetCellOutput);
       }},
  });
}

TEST_CASE("catch_jit_error turns an error into its status") {
  absl::StatusOr<Tensor> bad = catch_jit_error([] { return f32({2}) + f32({3}); });
  CHECK(absl::IsInvalidArgument(bad.status()));
  CHECK(catch_jit_error([] { return f32({2}) + f32({2}); }).ok());
}
