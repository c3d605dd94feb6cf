// Keys and values that earlier calls left, with those of a call written among them. Inside client/onnx/ only.
//
//   Tensor present = written(past, key, at, 2, /*circular=*/false);   // past[b, :, at[b] + t] = key[b, :, t]
#pragma once
#include "hearth/tensor.h"

namespace hearth::onnx {

// `cache` with `update` at place at[b] of `axis`, b counting the first axis; `at` holds integers, [B]. What would lie
// beyond the end is left out, or, in a circular cache, lies at its beginning. JitError where the shapes do not agree.
client::Tensor written(const client::Tensor& cache, const client::Tensor& update, const client::Tensor& at,
                       std::int64_t axis, bool circular);

}  // namespace hearth::onnx
