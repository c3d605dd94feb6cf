// Transducer: what an RN-T model (Graves 2012) puts behind its encoder, a predictor (an LSTM over the tokens so far) and
// a joint network, with a JIT wrapper of each, and GreedyTransducer, which decodes with them. Errors: JitError;
// GreedyTransducer gives statuses.
//
//   auto greedy = GreedyTransducer::make(Transducer({.width = 256, .classes = 34}, weights), config);
//   absl::StatusOr<std::vector<std::int64_t>> tokens = greedy->decode(*encoder->output(), 0, frames);
#pragma once
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/common/weights.h"
#include "hearth/jit_recurrent.h"
#include "hearth/jit_wrapper.h"

namespace hearth::examples {

struct TransducerConfig {
  std::int64_t width = 256;   // of the encoder
  std::int64_t hidden = 320;  // of the predictor's embedding and LSTM
  std::int64_t joint = 320;
  std::int64_t classes = 34;      // the blank is the last one
  std::int64_t max_symbols = 10;  // tokens of one frame
};

class Transducer {
 public:
  Transducer(TransducerConfig config, Weights weights) : config_(config), weights_(std::move(weights)) {}
  const TransducerConfig& config() const { return config_; }

  // token [1] (i64; the blank before the first one, whose embedding is zeros), h and c [1, hidden] ->
  // [1, 3 * hidden]: prediction, new h, new c.
  client::Tensor predict(const client::Tensor& token, const client::Tensor& h, const client::Tensor& c) const;
  // frame [1, width] and prediction [1, hidden] -> log-probabilities [1, classes].
  client::Tensor join(const client::Tensor& frame, const client::Tensor& prediction) const;

 private:
  client::Tensor weight(const std::string& name, client::Shape shape) const {
    return weights_.parameter("rnnt." + name, std::move(shape));
  }
  TransducerConfig config_;
  Weights weights_;
};

HEARTH_JIT_WRAPPER(PredictorJit, Transducer, (token, state_h, state_c)) {
  return model.predict(token, state_h, state_c);
}

HEARTH_JIT_WRAPPER(JointJit, Transducer, (frame, prediction)) { return model.join(frame, prediction); }

// For client::JitRecurrent.
absl::Status pack_state(PredictorJit::Prepared& jit, const client::LstmState& state);

// Takes the likeliest class: a token is emitted and moves the predictor on, a blank moves on to the next frame. One
// thread at a time.
class GreedyTransducer {
 public:
  static absl::StatusOr<GreedyTransducer> make(const Transducer& model, const client::PrepareConfig& config);

  // The tokens of one sequence of encoded [b, width, t], of its first `frames` frames.
  absl::StatusOr<std::vector<std::int64_t>> decode(const client::ConstView& encoded, std::int64_t sequence,
                                                   std::int64_t frames);

 private:
  using Predictor = client::JitRecurrent<PredictorJit::Prepared>;
  GreedyTransducer(TransducerConfig config, Predictor predictor, JointJit::Prepared joint)
      : config_(config), predictor_(std::move(predictor)), joint_(std::move(joint)) {}
  // Runs the predictor with a token and gives its prediction to the joint network.
  absl::Status predict(std::int64_t token);
  // The likeliest class of a frame after the tokens so far.
  absl::StatusOr<std::int64_t> likeliest(std::span<const float> frame);

  TransducerConfig config_;
  Predictor predictor_;
  JointJit::Prepared joint_;
};

}  // namespace hearth::examples
