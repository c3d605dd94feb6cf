// CtcHead: what a CTC model (Graves et al. 2006) puts behind its encoder, its JIT wrapper, and greedy decoding: the
// likeliest class of every frame, equal neighbours merged, blanks left out. Errors: JitError.
//
//   auto head = CtcHeadJit(CtcHead({.width = 256, .classes = 34}, weights)).prepare(...);
//   std::vector<std::int64_t> tokens = ctc_greedy(log_probabilities, 34);
#pragma once
#include <span>
#include <vector>

#include "examples/common/weights.h"
#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"

namespace hearth::examples {

struct CtcConfig {
  std::int64_t width = 256;   // of the encoder
  std::int64_t classes = 34;  // the blank is the last one
  std::int64_t max_batch = 8;
  std::int64_t max_frames = 400;  // of the encoder's output
};

class CtcHead {
 public:
  CtcHead(CtcConfig config, Weights weights) : config_(config), weights_(std::move(weights)) {}
  const CtcConfig& config() const { return config_; }

  // encoded [b, width, t] -> log-probabilities [b, t, classes].
  client::Tensor forward(const client::Tensor& encoded) const;

 private:
  CtcConfig config_;
  Weights weights_;
};

HEARTH_JIT_WRAPPER(CtcHeadJit, CtcHead, (encoded), (b, 1, model.config().max_batch),
                   (t, 1, model.config().max_frames)) {
  return model.forward(client::shrink(encoded, {0, 0, 0}, {b, model.config().width, t}));
}

// The tokens of one sequence: log-probabilities [frames, classes], row by row; the blank is the last class.
std::vector<std::int64_t> ctc_greedy(std::span<const float> log_probabilities, std::int64_t classes);

}  // namespace hearth::examples
