// Counting runs of tokens. Errors: JitError.
//
//   Tensor counts = count_ngrams(tokens, {{5, 4}, {7, 8}}, 1);     // tokens [N, length] -> i32 [N, 2]
#pragma once
#include <vector>

#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

// How often each n-gram stands in x [length] or [N, length] (integers): [grams] or [N, grams]. The tokens of an n-gram
// are 1 to max_skip + 1 places apart, all equally far. N-grams may differ in length; single tokens count once.
Tensor count_ngrams(const Tensor& x, const std::vector<std::vector<std::int64_t>>& grams, std::int64_t max_skip = 0,
                    Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
