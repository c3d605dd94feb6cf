// Detector: Silero VAD prepared through hearthd, as a stream of chunks of 32 ms in order; it carries the recurrent
// state and the last 4 ms. Not thread-safe; make one a stream. Errors: status.
//
//   absl::StatusOr<std::unique_ptr<Detector>> detector = load_detector("silero_vad_16k.safetensors", framing_of(16000),
//   1); absl::StatusOr<float> probability = (*detector)->next(chunk);     // of 512 samples
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"

namespace hearth::examples {

// What the model is given at once, in samples.
struct Framing {
  std::uint32_t rate = 16000;
  std::size_t chunk = 512;
  std::size_t context = 64;  // the end of the chunk before, in front of it
  std::size_t input() const { return context + chunk; }
};
inline Framing framing_of(std::uint32_t rate) { return {rate, rate * 32 / 1000, rate * 4 / 1000}; }

class Detector {
 public:
  using Chunk = std::span<const std::int16_t>;  // of Framing::chunk samples

  virtual ~Detector() = default;
  virtual absl::StatusOr<float> next(Chunk chunk) = 0;
  virtual client::PrepareStats stats() const = 0;
};

// The model as an ONNX file, its state an input and an output of the plan (onnx_detector.cpp).
absl::StatusOr<std::unique_ptr<Detector>> load_onnx_detector(const std::string& path, const Framing& framing,
                                                             int threads);
// The model in the Tensor API with the weights of a safetensors file (tensor_detector.cpp); 16 kHz.
absl::StatusOr<std::unique_ptr<Detector>> load_tensor_detector(const std::string& path, const Framing& framing,
                                                               int threads);
// By the file's ending.
absl::StatusOr<std::unique_ptr<Detector>> load_detector(const std::string& path, const Framing& framing, int threads);

// `samples` holds framing.input(): its end becomes the context and the chunk, scaled to [-1, 1), follows.
void shift_in(Detector::Chunk chunk, const Framing& framing, std::span<float> samples);

}  // namespace hearth::examples
