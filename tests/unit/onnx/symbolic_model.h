// A model over ranges of lengths, and the check that it gives what it gives imported for each of them.
//
//   check(symbolic_model().node("Size", {"x"}, {"y"}), "[]");
#pragma once
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

namespace hearth::onnx {

inline constexpr std::int64_t kLengths[][2] = {{1, 2}, {1, 5}, {3, 4}, {4, 5}, {4, 2}};
inline const ImportOptions kRanges = {.dims = {{"n", {1, 4}}, {"m", {2, 5}}}};

inline Array ramp(const std::vector<std::int64_t>& shape) {
  Array array{DType::kF32, shape, {}};
  std::int64_t size = 1;
  for (const std::int64_t length : shape) size *= length;
  for (std::int64_t i = 0; i < size; ++i) {
    const float value = static_cast<float>(i % 17) / 4 - 1;
    array.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return array;
}

// Runs a model whose one input "x" has the shape [n, m, 6] beside the same model of constant lengths.
inline void check(ModelBuilder m, const std::string& shape) {
  m.output("y");
  const auto symbolic = m.import(kRanges);
  INFO(error_of(symbolic));
  REQUIRE(symbolic.ok());
  CHECK(client::to_string(symbolic->results[0].shape) == shape);
  for (const auto& [rows, columns] : kLengths) {
    CAPTURE(rows, columns);
    const auto exact = m.import({.dims = {{"n", rows}, {"m", columns}}});
    INFO(error_of(exact));
    REQUIRE(exact.ok());
    const std::map<std::string, Array> inputs = {{"x", ramp({rows, columns, 6})}};
    const auto want = evaluate(*exact, inputs);
    REQUIRE(want.ok());
    const auto got = evaluate_at(*symbolic, inputs, {{"n", rows}, {"m", columns}});
    INFO(got.status().message());
    REQUIRE(got.ok());
    CHECK(difference((*got)[0], (*want)[0], {.relative = 1e-6, .absolute = 1e-6}) == "");
  }
}

inline ModelBuilder symbolic_model(int opset = 17) {
  ModelBuilder m(opset);
  m.symbolic_input("x", {"n", "m"});
  auto* six = m.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  six->add_dim()->set_dim_value(6);
  m.ints("zero", {}, {0}).ints("one", {}, {1}).ints("two", {}, {2}).ints("zeros", {1}, {0}).ints("ones", {1}, {1});
  m.ints("twos", {1}, {2}).ints("minus", {1}, {-1}).ints("six", {1}, {6}).node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"}).node("Gather", {"s", "one"}, {"m"});
  m.node("Unsqueeze", {"n", "zeros"}, {"ns"}).node("Unsqueeze", {"m", "zeros"}, {"ms"});
  return m;
}

inline std::string refusal(ModelBuilder m) { return error_of(m.output("y").import(kRanges)); }

}  // namespace hearth::onnx
