// Pooling over any number of spatial axes; x is [N, C, spatial...]. Empty vectors mean the default for every spatial
// axis. Errors: JitError.
//
//   Tensor p = max_pool(y, {.kernel = {2, 2}, .strides = {2, 2}});
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct PoolConfig {
  std::vector<std::int64_t> kernel = {};      // required
  std::vector<std::int64_t> strides = {};     // 1
  std::vector<std::int64_t> pads_begin = {};  // 0
  std::vector<std::int64_t> pads_end = {};    // 0
  std::vector<std::int64_t> dilations = {};   // 1
  bool ceil_mode = false;
  bool count_include_pad = false;  // average: divide by the whole window
};
Tensor max_pool(const Tensor& x, const PoolConfig& config, Loc loc = Loc::current());
struct MaxPoolResult {
  Tensor values;
  Tensor indices;  // i64: the position in x, flat, of the first greatest element of each window
};
// `column_major` counts the spatial axes the other way round, the first one fastest.
MaxPoolResult max_pool_with_indices(const Tensor& x, const PoolConfig& config, bool column_major = false,
                                    Loc loc = Loc::current());
// Zeros of spatial `lengths` with each x where its index (flat, in the result, in its own image and channel) says; the
// greatest of those with one index. Compares every element of the result with every index of its channel.
Tensor max_unpool(const Tensor& x, const Tensor& indices, const std::vector<std::int64_t>& lengths,
                  Loc loc = Loc::current());
Tensor avg_pool(const Tensor& x, const PoolConfig& config, Loc loc = Loc::current());
// (sum of |x|^p)^(1/p) over each window, p >= 1; padding adds nothing.
Tensor lp_pool(const Tensor& x, double p, const PoolConfig& config, Loc loc = Loc::current());
Tensor global_lp_pool(const Tensor& x, double p, Loc loc = Loc::current());
Tensor global_max_pool(const Tensor& x, Loc loc = Loc::current());
Tensor global_avg_pool(const Tensor& x, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
