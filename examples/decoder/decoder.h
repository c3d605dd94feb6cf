// Decoder: a small decoder-only transformer (Radford et al. 2019: learned positions, norms before) in the Tensor API,
// as one step with a cache of keys and values and, to check it, over a whole sequence without one. Its JIT wrapper
// makes a step of it whose token, position and cache are fed back by Instance::carry: generating copies nothing and
// the host only reads each token. Errors: JitError.
//
//   auto generator = Generator::make({}, Weights::seeded(7), config);
//   absl::StatusOr<std::vector<std::int64_t>> tokens = generator->generate({3, 1, 4}, 20);
#pragma once
#include <cstdint>
#include <vector>

#include "examples/common/weights.h"
#include "hearth/jit_wrapper.h"
#include "hearth/ops.h"

namespace hearth::examples {

struct DecoderConfig {
  std::int64_t vocabulary = 256;
  std::int64_t width = 64;
  std::int64_t heads = 4;
  std::int64_t layers = 2;
  std::int64_t max_length = 128;  // of a sequence, prompt included
};

class Decoder {
 public:
  Decoder(DecoderConfig config, Weights weights) : config_(config), weights_(std::move(weights)) {}
  const DecoderConfig& config() const { return config_; }

  // token [1] and position [1] (i64), keys and values [layers, heads, max_length, head] ->
  // "logits" [1, vocabulary], "next_token" [1] (the likeliest), "next_position", "next_keys", "next_values".
  client::NamedTensors step(const client::Tensor& token, const client::Tensor& position, const client::Tensor& keys,
                            const client::Tensor& values) const;
  // tokens [t] -> logits [t, vocabulary]; each token sees itself and those before it.
  client::Tensor forward(const client::Tensor& tokens) const;
  client::Shape cache_shape() const;

 private:
  client::Tensor weight(const std::string& name, client::Shape shape) const {
    return weights_.parameter(name, std::move(shape));
  }
  client::Tensor norm(const client::Tensor& x, const std::string& name) const;
  client::Tensor project(const client::Tensor& x, const std::string& name, std::int64_t width) const;
  // x [t, width] -> [heads, t, head].
  client::Tensor heads_of(const client::Tensor& x, const std::string& name) const;
  // q [heads, t, head], k and v [heads, n, head]; `seen` broadcasts to [heads, t, n].
  client::Tensor attend(const client::Tensor& q, const client::Tensor& k, const client::Tensor& v,
                        const client::Tensor& seen, const std::string& name) const;
  client::Tensor feed_forward(const client::Tensor& x, const std::string& name) const;
  client::Tensor embed(const client::Tensor& tokens, const client::Tensor& positions) const;
  client::Tensor logits(const client::Tensor& x) const;

  DecoderConfig config_;
  Weights weights_;
};

HEARTH_JIT_WRAPPER(DecoderJit, Decoder, (token, position, keys, values)) {
  return model.step(token, position, keys, values);
}

class Generator {
 public:
  static absl::StatusOr<Generator> make(const DecoderConfig& config, const Weights& weights,
                                        const client::PrepareConfig& prepare);
  // The `count` likeliest tokens after the prompt, which is not empty; InvalidArgument when a token is outside the
  // vocabulary or prompt and count are longer than the cache. Starts anew each time.
  absl::StatusOr<std::vector<std::int64_t>> generate(const std::vector<std::int64_t>& prompt, std::size_t count);
  absl::StatusOr<client::PrepareStats> stats() const { return jit_.stats(); }

 private:
  Generator(DecoderConfig config, DecoderJit::Prepared jit) : config_(config), jit_(std::move(jit)) {}
  DecoderConfig config_;
  DecoderJit::Prepared jit_;
};

}  // namespace hearth::examples
