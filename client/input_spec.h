// InputSpec: shape and dtype of one input of a wrapped model, given to prepare(). Lengths are constants (then the shape
// is the input's largest, which the build body may shrink by variables) or use the wrapper's variables, as in
// {jit.dim_b(), 80, jit.dim_t()}: then elements are dense at the values of the next execute.
//
//   jit.prepare(InputSpec::f32({1, 512}), InputSpec::i64({1}));
#pragma once
#include <utility>

#include "client/dim.h"
#include "runtime/dtype.h"

namespace hearth::client {

struct InputSpec {
  Shape shape;
  DType dtype = DType::kF32;

  InputSpec(Shape shape_of_input, DType dtype_of_input) : shape(std::move(shape_of_input)), dtype(dtype_of_input) {}
  static InputSpec f32(Shape shape) { return {std::move(shape), DType::kF32}; }
  static InputSpec i32(Shape shape) { return {std::move(shape), DType::kI32}; }
  static InputSpec i64(Shape shape) { return {std::move(shape), DType::kI64}; }
};

}  // namespace hearth::client
