#include "compiler/schedule/lengths.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/kernel_facts.h"

namespace hearth::schedule {

constexpr std::int64_t kMostAssumed = 4096;

std::int64_t assumed_length(ir::UOpRef range) {
  const std::int64_t n = KernelFacts::size(range);
  return n > 0 ? n : std::clamp<std::int64_t>(KernelFacts::largest_size(range), 1, kMostAssumed);
}

double mean_over_lengths(ir::UOpRef range, absl::FunctionRef<double(std::int64_t length)> cost) {
  const std::int64_t greatest = assumed_length(range);
  const std::int64_t least = std::clamp<std::int64_t>(range->source(0)->bounds.min, 1, greatest);
  double logarithms = 0;
  int count = 0;
  const auto look_at = [&](std::int64_t length) {
    logarithms += std::log(cost(length));
    ++count;
  };
  look_at(least);
  for (std::int64_t power = 1; power < greatest; power *= 2) {
    for (const std::int64_t length : {power, power + power / 2}) {
      if (length > least && length < greatest) look_at(length);
    }
  }
  if (greatest > least) look_at(greatest);
  return std::exp(logarithms / count);
}

}  // namespace hearth::schedule
