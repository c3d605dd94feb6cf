// Detector: Silero VAD v5 (16 kHz) prepared through hearthd. Feed it chunks of 512 samples in order; it carries the
// recurrent state and the last 64 samples. Not thread-safe; make one a stream. Errors: status.
//
//   absl::StatusOr<Detector> detector = Detector::load("silero_vad_16k_op15.onnx", /*threads=*/1);
//   absl::StatusOr<float> probability = detector->next(chunk);     // std::span<const std::int16_t, 512>
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/jit.h"

namespace hearth::examples {

class Detector {
 public:
  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kContext = 64;
  static constexpr std::size_t kState = 2 * 1 * 128;

  static absl::StatusOr<Detector> load(const std::string& model, int threads);
  absl::StatusOr<float> next(std::span<const std::int16_t, kChunk> chunk);
  const client::PrepareStats& stats() const { return plan_.stats(); }

 private:
  Detector(client::PreparedPlan plan, client::Instance instance);
  absl::Status bind();

  client::PreparedPlan plan_;
  client::Instance instance_;
  float* samples_ = nullptr;  // the instance's own input buffers
  float* state_ = nullptr;
};

}  // namespace hearth::examples
