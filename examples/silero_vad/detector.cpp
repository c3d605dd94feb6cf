#include "examples/silero_vad/detector.h"

#include <algorithm>

namespace hearth::examples {

absl::StatusOr<std::unique_ptr<Detector>> load_detector(const std::string& path, const Framing& framing, int threads) {
  if (path.ends_with(".safetensors")) return load_tensor_detector(path, framing, threads);
  return load_onnx_detector(path, framing, threads);
}

void shift_in(Detector::Chunk chunk, const Framing& framing, std::span<float> samples) {
  const auto context = static_cast<std::ptrdiff_t>(framing.context);
  std::copy(samples.end() - context, samples.end(), samples.begin());
  std::transform(chunk.begin(), chunk.end(), samples.begin() + context,
                 [](std::int16_t sample) { return static_cast<float>(sample) / 32768.0F; });
}

}  // namespace hearth::examples
