// InputSpec: shape and dtype of one input of a wrapped model, given to prepare(). Lengths are constants (then the shape
// is the input's largest, which the build body may shrink by variables) or use the wrapper's variables, as in
// {jit.dim_b(), 80, jit.dim_t()}: then elements are dense at the values of the next execute. A constant is an input
// whose value is known: the body is recorded with it, and an execute with another value is refused.
//
//   auto prepared = jit.prepare(InputSpec::f32({1, 512}), InputSpec::constant(std::int64_t{16000}));
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "hearth/array.h"
#include "hearth/dim.h"
#include "hearth/dtype.h"
#include "hearth/element_type.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct InputSpec {
  Shape shape;
  DType dtype = DType::kF32;
  std::optional<std::string> bytes;  // of a constant's elements

  InputSpec(Shape shape_of_input, DType dtype_of_input) : shape(std::move(shape_of_input)), dtype(dtype_of_input) {}
  static InputSpec f32(Shape shape) { return {std::move(shape), DType::kF32}; }
  static InputSpec i32(Shape shape) { return {std::move(shape), DType::kI32}; }
  static InputSpec i64(Shape shape) { return {std::move(shape), DType::kI64}; }
  static InputSpec constant(const Array& value) {
    InputSpec spec({value.shape.begin(), value.shape.end()}, value.dtype);
    spec.bytes = value.bytes;
    return spec;
  }
  // A scalar.
  template <typename T>
    requires std::is_arithmetic_v<T>
  static InputSpec constant(T value) {
    return constant(Array{dtype_of<T>(), {}, std::string(reinterpret_cast<const char*>(&value), sizeof value)});
  }
};

}  // namespace hearth::client
#pragma GCC visibility pop
