// Detector: Silero VAD v5 (16 kHz) prepared through hearthd, as a stream of chunks of 512 samples in order; it carries
// the recurrent state and the last 64 samples. Not thread-safe; make one a stream. Errors: status.
//
//   absl::StatusOr<std::unique_ptr<Detector>> detector = load_detector("silero_vad_16k.safetensors", /*threads=*/1);
//   absl::StatusOr<float> probability = (*detector)->next(chunk);     // std::span<const std::int16_t, 512>
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/jit.h"

namespace hearth::examples {

class Detector {
 public:
  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kContext = 64;
  using Chunk = std::span<const std::int16_t, kChunk>;

  virtual ~Detector() = default;
  virtual absl::StatusOr<float> next(Chunk chunk) = 0;
  virtual client::PrepareStats stats() const = 0;
};

// The model as an ONNX file, its state an input and an output of the plan (onnx_detector.cpp).
absl::StatusOr<std::unique_ptr<Detector>> load_onnx_detector(const std::string& path, int threads);
// The model in the Tensor API with the weights of a safetensors file (tensor_detector.cpp).
absl::StatusOr<std::unique_ptr<Detector>> load_tensor_detector(const std::string& path, int threads);
// By the file's ending.
absl::StatusOr<std::unique_ptr<Detector>> load_detector(const std::string& path, int threads);

// `samples` holds 576: its last 64 become the context and the chunk, scaled to [-1, 1), follows.
void shift_in(Detector::Chunk chunk, std::span<float> samples);

}  // namespace hearth::examples
