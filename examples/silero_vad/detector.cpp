#include "examples/silero_vad/detector.h"

#include <algorithm>

namespace hearth::examples {

absl::StatusOr<std::unique_ptr<Detector>> load_detector(const std::string& path, int threads) {
  if (path.ends_with(".safetensors")) return load_tensor_detector(path, threads);
  return load_onnx_detector(path, threads);
}

void shift_in(Detector::Chunk chunk, std::span<float> samples) {
  std::copy(samples.end() - Detector::kContext, samples.end(), samples.begin());
  std::transform(chunk.begin(), chunk.end(), samples.begin() + Detector::kContext,
                 [](std::int16_t sample) { return static_cast<float>(sample) / 32768.0F; });
}

}  // namespace hearth::examples
