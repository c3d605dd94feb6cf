// Sample values: what timed kernels read, and whether two of them wrote the same. Pure functions.
//
//   fill_sample(v1::F32, bytes, seed);                       // floats in [1/16, 1), integers in [0, 64)
//   std::string where = difference(v1::F32, wanted, got);    // empty: the same
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "hearth/v1/graph.pb.h"

namespace hearth {

using Bytes = std::span<unsigned char>;
using ConstBytes = std::span<const unsigned char>;

// Positive, so that sums are well-conditioned and logarithms exist; the same for one seed everywhere.
void fill_sample(v1::DType dtype, Bytes bytes, std::uint64_t seed);

// Integers must be equal. Floats may differ as far as another order of their sums explains: f32 by 1e-4, f64 by 1e-10,
// f16 by 1e-2, bf16 by 5e-2 of the value or of the mean magnitude, whichever is larger; NaN equals NaN.
std::string difference(v1::DType dtype, ConstBytes wanted, ConstBytes got);

}  // namespace hearth
