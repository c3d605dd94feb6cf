// Convolution: a stage that sums channels and a square window, at distance 1, of an image times weights that are the
// same at every replay; channels and window of known lengths.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "compiler/passes/ranged/stage_facts.h"

namespace hearth::passes {

struct Convolution {
  ir::UOpRef reduce = nullptr;
  ir::UOpRef image = nullptr, weights = nullptr;  // factors of what is summed
  ir::UOpRef made = nullptr, summed = nullptr;    // channels: a loop of the stage, a range of the sum
  ir::UOpRef row = nullptr, column = nullptr;     // loops: places of results
  ir::UOpRef window_row = nullptr, window_column = nullptr;
  std::vector<ir::UOpRef> batch;  // the other loops
};

// `window`: length of its sides. `is_invariant`: whether a stage or buffer holds the same at every replay.
std::optional<Convolution> find_convolution(ir::Graph& graph, const StageFacts& stage, std::int64_t window,
                                            absl::FunctionRef<bool(ir::UOpRef)> is_invariant);

// The length of a range; 0 when it is not constant.
std::int64_t constant_length(ir::UOpRef range);

}  // namespace hearth::passes
