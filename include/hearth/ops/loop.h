// A body that is recorded once and computed step after step, each seeing what the step before made. What is prepared
// does not grow with the number of steps. Errors: JitError.
//
//   // Running sums of x [T, N] over time, which end in `last`.
//   LoopResult sums = loop(x.dim(0), {full({n}, 0, DType::kF32)}, {x}, [](LoopStep step) -> LoopValues {
//     Tensor next = step.carried[0] + step.sliced[0];
//     return {.carried = {next}, .stacked = {next}};
//   });
//   Tensor last = sums.last[0], all = sums.stacked[0];   // [N], [T, N]
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// What a step is given: what the step before made (before the first one, the initial values), and its elements of what
// is sliced.
struct LoopStep {
  std::span<const Tensor> carried;
  std::span<const Tensor> sliced;
};
// What a step makes: the carried values' next ones, of the same dtypes and shapes, and values that are kept.
struct LoopValues {
  std::vector<Tensor> carried;
  std::vector<Tensor> stacked;
};
using LoopBody = std::function<LoopValues(LoopStep)>;

struct LoopConfig {
  // The first step has the last elements of what is sliced, and makes the last of what is stacked.
  bool reverse = false;
};

struct LoopResult {
  std::vector<Tensor> last;     // carried values after the last step
  std::vector<Tensor> stacked;  // [count, ...]
};

// `count`, at least 1, is the length of the first axis of everything in `sliced`. The body may use any other tensor; it
// is called once, or, for a constant count of one or within another loop's body, once a step.
LoopResult loop(const Dim& count, const std::vector<Tensor>& carried, const std::vector<Tensor>& sliced,
                const LoopBody& body, const LoopConfig& config = {}, Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
