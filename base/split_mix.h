// SplitMix64 (Steele, Lea, Flood 2014): reproducible values for inputs that nobody gave; not for secrets. Pure.
//
//   std::uint64_t state = seed;
//   const std::uint64_t value = next_random(state);
#pragma once
#include <cstdint>

namespace hearth {

inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace hearth
