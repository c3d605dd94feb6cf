// Subnormal values of weights: zero in their place where a plan's kernels only multiply and add them, once for all
// processes that share the weights. -0.0 is no subnormal value. Thread-safe.
//
//   std::vector<bool> loses = loses_subnormals(plan, Subnormals::kResults);   // by buffer
//   if (loses[i]) zero_subnormals(data, size_bytes, plan.buffers[i].dtype);
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/dtype.h"
#include "hearth/subnormals.h"
#include "runtime/plan/plan.h"

namespace hearth::runtime {

// The parameters, constants and results of `once` launches that replays read, and only multiply and add; none where
// subnormal values are kept.
std::vector<bool> loses_subnormals(const Plan& plan, Subnormals subnormals);

// Subnormal elements among `bytes`, which begin at one; of f32 and bf16, none of other types. The bytes may be of a
// mapped file: DATA_LOSS when they are gone.
absl::StatusOr<std::size_t> count_subnormals(std::string_view bytes, DType dtype);

// Makes them zeros of their sign; `data` is aligned to an element.
void zero_subnormals(void* data, std::size_t size_bytes, DType dtype);

}  // namespace hearth::runtime
