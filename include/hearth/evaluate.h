// evaluate(): from lazy tensors to numbers in one call. Plans are kept by what they compute and for which device: the
// same graph again, recorded anew or not, is a replay. Parameters with an owner stay what they are; those that are
// borrowed are read at every call, so that changed ones count. Thread-safe; calls of one graph at the same time have an
// instance each. Errors: those of prepare(); InvalidArgument for an input that is not given, of another shape or dtype,
// and for a graph with variables (prepare it: an instance takes their values).
//
//   absl::StatusOr<Array> y = (matmul(x, w) + 1.0).evaluate();
//   absl::StatusOr<std::vector<Array>> both = evaluate({sum, mean}, {{"x", view_of(samples, {1, 512})}});
#pragma once
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/array.h"
#include "hearth/prepare.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// What inputs of the graph are, by name. The arrays live until the call returns.
using InputArrays = std::map<std::string, ArrayView>;

// In the order of `tensors`.
absl::StatusOr<std::vector<Array>> evaluate(const std::vector<Tensor>& tensors, const InputArrays& inputs = {},
                                            const PrepareConfig& config = {});

struct EvaluateStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t plans = 0;  // kept; at most kMaxEvaluatedPlans
};
inline constexpr std::size_t kMaxEvaluatedPlans = 64;  // the least recently used one goes
// What this process has done so far.
EvaluateStats evaluate_stats();

}  // namespace hearth::client
#pragma GCC visibility pop
