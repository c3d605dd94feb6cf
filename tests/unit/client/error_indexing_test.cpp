// Wrong arguments of the ops that write by index, sort, or make tensors by formula.
#include <catch2/catch.hpp>

#include "tests/unit/client/error_rows.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::client::error_rows;

TEST_CASE("wrong arguments of elementwise functions get their own messages") {
  const std::pair<const char*, Tensor (*)(const Tensor&, Loc)> functions[] = {
      {"asin", asin},   {"acos", acos},   {"atan", atan},   {"sinh", sinh},   {"cosh", cosh},
      {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh}, {"log1p", log1p},
  };
  for (const auto& [name, function] : functions) {
    const std::string text = message([function = function] { function(Tensor(), Loc::current()); });
    CHECK_THAT(text, Catch::StartsWith(std::string(name) + ": argument 'x' is an empty tensor"));
  }
  check_rows({
      {"atan2: argument 'a' is an empty tensor", [] { atan2(Tensor(), f32({2})); }},
      {"atan2: shapes [2] and [3] do not broadcast", [] { atan2(f32({2}), f32({3})); }},
      {"copysign: argument 'b' is an empty tensor", [] { copysign(f32({2}), Tensor()); }},
      {"lerp: argument 'end' is an empty tensor", [] { lerp(f32({2}), Tensor(), 0.5); }},
      {"lerp: shapes [3] and [2] do not broadcast", [] { lerp(f32({2}), f32({3}), 0.5); }},
  });
}

TEST_CASE("wrong arguments of tensors by formula get their own messages") {
  const Dim n = Dim::variable("n", 0, 9);
  check_rows({
      {"linspace: count is 0; expected >= 1", [] { linspace(0, 1, 0); }},
      {"linspace: the dtype is i32; expected a float dtype", [] { linspace(0, 1, 3, DType::kI32); }},
      {"eye: record: the result's shape [-1, 2] has the length -1", [] { eye(-1, 2); }},
      {"triu: argument 'x' is f32 [3]; expected at least 2 axes", [] { triu(f32({3})); }},
      {"tril: argument 'x' is an empty tensor", [] { tril(Tensor()); }},
      {"meshgrid: a vector is f32 [2, 2]; expected one axis each", [] { meshgrid({f32({3}), f32({2, 2})}); }},
      {"meshgrid: argument 'vectors' is an empty tensor", [] { meshgrid({Tensor()}); }},
      {"roll: axis 1 is out of range", [] { roll(f32({3}), 1, 1); }},
      {"roll: axis 0 of f32 [n] has the symbolic length n", [&] { roll(f32({n}), 1, 0); }},
      {"cumprod: axis 2 is out of range", [] { cumprod(f32({3}), 2); }},
      {"cumprod: argument 'x' is an empty tensor", [] { cumprod(Tensor(), 0); }},
      {"std_deviation: f32 [3] has too few elements for correction 3", [] { std_deviation(f32({3}), {}, false, 3); }},
  });
}

TEST_CASE("wrong arguments of writing by index get their own messages") {
  const Dim n = Dim::variable("n", 0, 9);
  check_rows({
      {"scatter_elements: argument 'updates' is an empty tensor",
       [] { scatter_elements(f32({3}), i64({2}), Tensor(), 0); }},
      {"argument 'indices' is f32 [2]; expected an integer dtype",
       [] { scatter_elements(f32({3}), f32({2}), f32({2}), 0); }},
      {"'data' is f32 [3] and 'updates' is i64 [2]; expected one dtype",
       [] { scatter_elements(f32({3}), i64({2}), i64({2}), 0); }},
      {"axis 1 is out of range", [] { scatter_elements(f32({3}), i64({2}), f32({2}), 1); }},
      {"expected equal ranks, and one shape", [] { scatter_elements(f32({3}), i64({2}), f32({1}), 0); }},
      {"expected equal ranks, and one shape", [] { scatter_elements(f32({3, 3}), i64({2}), f32({2}), 0); }},
      {"expected no more than 3 along axis 1", [] { scatter_elements(f32({3, 3}), i64({2, 4}), f32({2, 4}), 0); }},
      {"expected numbers to combine",
       [] {
         const Tensor flags = input("x", {3}, DType::kBool);
         scatter_elements(flags, i64({3}), flags, 0, ScatterReduction::kAdd);
       }},
      {"symbolic length n", [&] { scatter_elements(f32({n}), i64({2}), f32({2}), 0); }},
      {"scatter_nd: 'indices' is i64 [2, 3]; expected a last axis of 1 to 2 coordinates",
       [] { scatter_nd(f32({4, 4}), i64({2, 3}), f32({2})); }},
      {"'indices' is i64 []", [] { scatter_nd(f32({4, 4}), i64({}), f32({4, 4})); }},
      {"'updates' is f32 [2, 3]; expected the shape [2, 4]", [] { scatter_nd(f32({4, 4}), i64({2, 1}), f32({2, 3})); }},
      {"gather_elements: 'data' is f32 [2, 3] and 'indices' is i64 [3, 3]; expected 'indices' to be no longer",
       [] { gather_elements(f32({2, 3}), i64({3, 3}), 1); }},
      {"gather_nd: 'indices' is i64 [2, 3]; expected a last axis of 1 to 2 coordinates",
       [] { gather_nd(f32({4, 4}), i64({2, 3})); }},
      {"batch_axes is 1; expected 0 or more, and less than the axes", [] { gather_nd(f32({4}), i64({2, 1}), 1); }},
      {"expected equal lengths along the first 1 axes", [] { gather_nd(f32({4, 4}), i64({3, 1}), 1); }},
      {"axis 0 of f32 [0, 4] is empty", [] { gather_nd(f32({0, 4}), i64({3, 1})); }},
      {"argument 'indices' is f32 [3, 1]", [] { gather_nd(f32({4}), f32({3, 1})); }},
  });
}

TEST_CASE("wrong arguments of sorting get their own messages") {
  const Dim n = Dim::variable("n", 0, 9);
  check_rows({
      {"sort: axis 1 is out of range", [] { sort(f32({3}), 1); }},
      {"sort: argument 'x' is an empty tensor", [] { sort(Tensor()); }},
      {"argsort: axis 0 of f32 [n] has the symbolic length n", [&] { argsort(f32({n})); }},
      {"argsort: axis -1 is out of range for 0 axes", [] { argsort(f32({})); }},
      {"topk: k is 4; expected 0 to 3, the length of axis 0", [] { topk(f32({3}), 4); }},
      {"topk: k is -1", [] { topk(f32({3}), -1); }},
  });
}

TEST_CASE("wrong arguments of results with data-dependent lengths get their own messages") {
  const Dim n = Dim::variable("n", 0, 9);
  const Tensor flags = input("c", {4}, DType::kBool);
  check_rows({
      {"nonzero: argument 'x' is an empty tensor", [] { nonzero(Tensor()); }},
      {"nonzero: axis 0 of f32 [n] has the symbolic length n", [&] { nonzero(f32({n})); }},
      {"compress: argument 'condition' is i64 [2]; expected bool with one axis",
       [] { compress(f32({3}), i64({2}), 0); }},
      {"expected at most 3 elements", [&] { compress(f32({3}), flags, 0); }},
      {"axis 1 is out of range", [&] { compress(f32({4}), flags, 1); }},
      {"unique: axis 1 is out of range", [] { unique(f32({3}), 1); }},
      {"expected at least one element", [] { unique(f32({0, 2})); }},
      {"non_max_suppression: 'boxes' is f32 [1, 5, 3]",
       [] { non_max_suppression(f32({1, 5, 3}), f32({1, 2, 5}), {.max_per_class = 1}); }},
      {"'scores' is f32 [1, 2, 6]", [] { non_max_suppression(f32({1, 5, 4}), f32({1, 2, 6}), {.max_per_class = 1}); }},
      {"each class may choose 4097 of 5000 boxes; expected a max_per_class of at most 4096",
       [] { non_max_suppression(f32({1, 5000, 4}), f32({1, 2, 5000}), {.max_per_class = 4097}); }},
      {"max_per_class is -1", [] { non_max_suppression(f32({1, 5, 4}), f32({1, 2, 5}), {.max_per_class = -1}); }},
  });
}

TEST_CASE("wrong arguments of random numbers get their own messages") {
  const Dim n = Dim::variable("n", 0, 9);
  const Tensor key = random_key(1);
  check_rows({
      {"random_bits: argument 'key' is f32 [2]; expected u32 [2]", [] { random_bits({3}, f32({2})); }},
      {"random_uniform: argument 'key' is an empty tensor", [] { random_uniform({3}, Tensor()); }},
      {"the shape is [n]; expected constant lengths", [&] { random_bits({n}, key); }},
      {"the dtype is i32; expected a float dtype", [&] { random_uniform({3}, key, 0, 1, DType::kI32); }},
      {"low is 2 and high is 1; expected low <= high", [&] { random_uniform({3}, key, 2, 1); }},
      {"random_normal: deviation is -1", [&] { random_normal({3}, key, 0, -1); }},
      {"random_normal: the dtype is bool", [&] { random_normal({3}, key, 0, 1, DType::kBool); }},
      {"random_bernoulli: the dtype is i64", [&] { random_bernoulli(i64({3}), key); }},
      {"random_multinomial: argument 'log_weights' is f32 [3]; expected [batch, classes]",
       [&] { random_multinomial(f32({3}), 1, key); }},
      {"num_samples is -1", [&] { random_multinomial(f32({2, 3}), -1, key); }},
      {"argument 'counters' is u32 [2, 3]; expected u32 [.., 2]",
       [&] { threefry2x32(key, input("x", {2, 3}, DType::kU32)); }},
  });
}

TEST_CASE("wrong arguments of sums of products get their own messages") {
  check_rows({
      {"einsum: there are no operands", [] { einsum("i->i", {}); }},
      {"'ij' has fewer terms than the 2 operands", [] { einsum("ij", {f32({2, 3}), f32({3})}); }},
      {"'ij,j' has more terms than the 1 operands", [] { einsum("ij,j", {f32({2, 3})}); }},
      {"the term 'ij' labels 2 axes; its operand has 3", [] { einsum("ij", {f32({2, 3, 4})}); }},
      {"the term 'i1' holds more than letters", [] { einsum("i1", {f32({2, 3})}); }},
      {"the result's 'k' labels no operand's axis", [] { einsum("ij->k", {f32({2, 3})}); }},
      {"the result's 'i' occurs twice", [] { einsum("ij->ii", {f32({2, 3})}); }},
      {"'j' labels axes of the lengths 3 and 4", [] { einsum("ij,jk", {f32({2, 3}), f32({4, 5})}); }},
      {"'i' labels axes of the lengths 2 and 3", [] { einsum("ii", {f32({2, 3})}); }},
      {"'...' labels axes of the lengths 2 and 3", [] { einsum("...,...->...", {f32({2}), f32({3})}); }},
      {"argument 'operands' is an empty tensor", [] { einsum("i", {Tensor()}); }},
      {"determinant: argument 'x' is f32 [2, 3]; expected square matrices", [] { determinant(f32({2, 3})); }},
      {"determinant: argument 'x' is f32 [65, 65]; expected 1 to 64 rows", [] { determinant(f32({65, 65})); }},
      {"reverse_sequence: time_axis and batch_axis are both 0", [] { reverse_sequence(f32({2, 3}), i64({2}), 0, -2); }},
      {"argument 'lengths' is i64 [2]; expected the shape [3]", [] { reverse_sequence(f32({2, 3}), i64({2}), 0, 1); }},
      {"argument 'lengths' is f32 [3]", [] { reverse_sequence(f32({2, 3}), f32({3}), 0, 1); }},
  });
}
