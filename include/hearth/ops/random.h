// Random numbers as functions of a key: equal keys give equal numbers, on every device and at every replay. Give a new
// key to get new ones, as an input of the graph where they shall differ between replays. The generator is
// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011; Random123).
// Shapes must be constant. Errors: JitError.
//
//   Tensor noise = random_normal({3, 4}, input("key", {2}, DType::kU32));
#pragma once
#include <cstdint>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// u32 [2] for the ops below, as a constant.
Tensor random_key(std::uint64_t seed, Loc loc = Loc::current());

// The generator itself: key u32 [2], counters u32 [.., 2] -> u32 [.., 2].
Tensor threefry2x32(const Tensor& key, const Tensor& counters, Loc loc = Loc::current());
// u32. Of n elements, row-major, the first (n + 1) / 2 are the first words of counters (0, 0), (1, 0), ..., the others
// their second words.
Tensor random_bits(Shape shape, const Tensor& key, Loc loc = Loc::current());

// In [low, high), as fine as the dtype's numbers below 1 are (f64: 2^-32); rounding may give `high` where low is not 0.
Tensor random_uniform(Shape shape, const Tensor& key, double low = 0, double high = 1, DType dtype = DType::kF32,
                      Loc loc = Loc::current());
// By Box and Muller's method, computed in f32 (f64 in f64): no number is farther than 6.8 deviations from the mean.
Tensor random_normal(Shape shape, const Tensor& key, double mean = 0, double deviation = 1, DType dtype = DType::kF32,
                     Loc loc = Loc::current());
// bool in the shape of `probability` (floats): true with that probability, in steps of 2^-24.
Tensor random_bernoulli(const Tensor& probability, const Tensor& key, Loc loc = Loc::current());
// Classes (i64 [batch, num_samples]) drawn with replacement; `log_weights` floats [batch, classes], the logarithms of
// weights, which need not add up to 1. Time: num_samples * classes a row.
Tensor random_multinomial(const Tensor& log_weights, std::int64_t num_samples, const Tensor& key,
                          Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
