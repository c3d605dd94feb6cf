// SileroVad: Silero VAD v5 (16 kHz) written in the Tensor API, with the weights of a safetensors file, and its JIT
// wrapper. Immutable; thread-safe. Errors: load() gives a status, forward_chunk() throws JitError.
//
//   absl::StatusOr<SileroVad> vad = SileroVad::load("silero_vad_16k.safetensors");
//   auto jit = SileroVadJit(*vad).prepare(InputSpec::f32({1, 576}), InputSpec::f32({1, 128}), InputSpec::f32({1,
//   128}));
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "hearth/jit_recurrent.h"
#include "hearth/jit_wrapper.h"
#include "hearth/safetensors.h"

namespace hearth::examples {

class SileroVad {
 public:
  static constexpr std::int64_t kInput = 576;   // 64 samples of context, 512 of the chunk
  static constexpr std::int64_t kHidden = 128;  // of the LSTM

  static absl::StatusOr<SileroVad> load(const std::string& path);
  explicit SileroVad(client::Safetensors weights) : weights_(std::move(weights)) {}
  // chunk [1, 576], h and c [1, 128] -> [1, 1 + 128 + 128]: probability of speech, new h, new c.
  client::Tensor forward_chunk(const client::Tensor& chunk, const client::Tensor& h, const client::Tensor& c) const;

 private:
  client::Tensor convolve(const client::Tensor& x, const std::string& layer, std::int64_t stride,
                          std::int64_t pad) const;
  client::Safetensors weights_;
};

HEARTH_JIT_WRAPPER(SileroVadJit, SileroVad, (chunk, state_h, state_c)) {
  return model.forward_chunk(chunk, state_h, state_c);
}

// For client::JitRecurrent.
absl::Status pack_state(SileroVadJit::Prepared& jit, const client::LstmState& state);

}  // namespace hearth::examples
