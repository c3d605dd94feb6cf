// Loops that do nothing but arithmetic, or nothing but reading, as fast as this processor can: the two limits of a
// roofline. Each takes a few hundredths of a second, several times over, and gives the fastest. Thread-safe, but two at
// a time disturb one another.
//
//   double flops = peak_flops(/*threads=*/2);
#pragma once
#include <cstdint>

namespace hearth::cli {

// Operations on f32 a second of `threads` threads together, in the widest vectors of the processor: chains of
// multiply-adds (where it has them) that are independent enough to hide their latency. A multiply-add counts two.
double peak_flops(std::uint32_t threads);

// Bytes a second that `threads` threads read together, each again and again from memory of its own of `bytes` bytes.
double read_bytes_per_s(std::uint32_t threads, std::uint64_t bytes);

}  // namespace hearth::cli
