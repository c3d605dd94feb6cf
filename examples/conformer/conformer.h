// Conformer: an encoder for speech as GigaAM's (Gulati et al. 2020, with rotary positions) in the Tensor API, and its
// JIT wrapper, one plan for every batch and time within its bounds. Errors: JitError.
//
//   Conformer model({.layers = 2}, Weights::seeded(7));
//   auto jit = ConformerJit(model).with_b_bound(4).prepare(InputSpec::f32({4, 64, 400}), InputSpec::i64({4}));
//   jit->execute_with_vars({{"b", 2}, {"t", 317}});
#pragma once
#include <string>

#include "examples/common/weights.h"
#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"

namespace hearth::examples {

struct ConformerConfig {
  std::int64_t mels = 64;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t expansion = 4;  // of the feed-forward layers
  std::int64_t kernel = 31;    // of the depthwise convolution; odd
  std::int64_t layers = 4;
  std::int64_t max_batch = 8;
  std::int64_t max_frames = 1600;  // of the mel spectrogram: 16 s at 10 ms
};

class Conformer {
 public:
  Conformer(ConformerConfig config, Weights weights) : config_(config), weights_(std::move(weights)) {}
  const ConformerConfig& config() const { return config_; }

  // Frames that are left of `t` mel frames: two convolutions of stride 2.
  static client::Dim encoded_length(const client::Dim& t);

  // mel [b, mels, t], lengths [b] (frames of each sequence that are not padding) -> [b, width, encoded_length(t)].
  client::Tensor forward_batch(const client::Tensor& mel, const client::Tensor& lengths) const;
  // One layer: x [b, t, width] -> [b, t, width]. `mask` broadcasts to [b, heads, t, t]: true where a query sees a key;
  // empty: everywhere.
  client::Tensor layer(const client::Tensor& x, const client::Tensor& mask, const std::string& name) const;

 private:
  client::Tensor weight(const std::string& name, client::Shape shape) const {
    return weights_.parameter(name, std::move(shape));
  }
  client::Tensor norm(const client::Tensor& x, const std::string& name) const;
  client::Tensor project(const client::Tensor& x, const std::string& name, std::int64_t width) const;
  client::Tensor feed_forward(const client::Tensor& x, const std::string& name) const;
  client::Tensor attention(const client::Tensor& x, const client::Tensor& mask, const std::string& name) const;
  client::Tensor convolution(const client::Tensor& x, const std::string& name) const;
  client::Tensor subsample(const client::Tensor& mel) const;
  // Rotates pairs (i, i + half) of the last axis by the position along the axis before it (Su et al. 2021).
  client::Tensor rotate(const client::Tensor& x) const;

  ConformerConfig config_;
  Weights weights_;
};

// `mel` and `lengths` are as large as the bounds; the first b sequences and t frames are used.
HEARTH_JIT_WRAPPER(ConformerJit, Conformer, (mel, lengths), (b, 1, model.config().max_batch),
                   (t, 1, model.config().max_frames)) {
  const client::Tensor batch = client::shrink(mel, {0, 0, 0}, {b, model.config().mels, t});
  const client::Tensor encoded = model.forward_batch(batch, client::shrink(lengths, {0}, {b}));
  return client::cast(encoded, DType::kF32);  // whatever the encoder computes in, its readers see f32
}

}  // namespace hearth::examples
