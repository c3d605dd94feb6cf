#include "examples/conformer/ctc.h"

#include <algorithm>

namespace hearth::examples {

using namespace hearth::client;

Tensor CtcHead::forward(const Tensor& encoded) const {
  const Tensor w = weights_.parameter("ctc.weight", {config_.width, config_.classes});
  const Tensor b = weights_.parameter("ctc.bias", {config_.classes});
  return log_softmax(matmul(transpose(encoded), w) + b);
}

std::vector<std::int64_t> ctc_greedy(std::span<const float> log_probabilities, std::int64_t classes) {
  const auto width = static_cast<std::size_t>(classes);
  const std::int64_t blank = classes - 1;
  std::vector<std::int64_t> tokens;
  std::int64_t last = blank;
  for (std::size_t at = 0; at + width <= log_probabilities.size(); at += width) {
    const auto frame = log_probabilities.subspan(at, width);
    const std::int64_t best = std::ranges::max_element(frame) - frame.begin();
    if (best != last && best != blank) tokens.push_back(best);
    last = best;
  }
  return tokens;
}

}  // namespace hearth::examples
