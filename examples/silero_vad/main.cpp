// silero_vad: finds speech in a recording with Silero VAD, chunk by chunk, through hearthd.
//
//   silero_vad --model silero_vad_16k_op15.onnx --wav speech_16k.wav --probs probabilities.txt
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "examples/common/example_program.h"
#include "examples/common/process_clock.h"
#include "examples/silero_vad/detector.h"
#include "examples/silero_vad/segments.h"
#include "examples/silero_vad/wav.h"

namespace {

using hearth::examples::Detector;
using hearth::examples::Framing;

struct Flags {
  std::string model;
  std::string wav;
  std::string probs;
  int threads = 1;
};

absl::Status write_probabilities(const std::string& path, const std::vector<float>& probabilities) {
  std::string text;
  char line[32];
  for (float probability : probabilities) {
    std::snprintf(line, sizeof(line), "%.9g\n", static_cast<double>(probability));
    text += line;
  }
  return hearth::runtime::write_file(path, {text});
}

absl::Status run(const Flags& flags) {
  const auto recording = hearth::examples::read_wav(flags.wav);
  if (!recording.ok()) return recording.status();
  const std::vector<std::int16_t>& samples = recording->samples;
  const Framing framing = hearth::examples::framing_of(recording->rate);
  const std::size_t chunk = framing.chunk;
  if (samples.size() < chunk) {
    return absl::InvalidArgumentError(hearth::str_cat(flags.wav, ": shorter than one chunk of ", chunk, " samples"));
  }
  const auto loaded = hearth::examples::load_detector(flags.model, framing, flags.threads);
  if (!loaded.ok()) return loaded.status();
  Detector& detector = **loaded;
  std::vector<float> probabilities;
  probabilities.reserve(samples.size() / chunk);
  double first_ms = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at + chunk <= samples.size(); at += chunk) {
    const auto probability = detector.next(Detector::Chunk(&samples[at], chunk));
    if (!probability.ok()) return probability.status();
    probabilities.push_back(*probability);
    if (at == 0) first_ms = hearth::examples::milliseconds_since_process_start();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!flags.probs.empty()) {
    if (absl::Status written = write_probabilities(flags.probs, probabilities); !written.ok()) return written;
  }
  const auto rules = hearth::examples::SegmentRules::of_rate(framing.rate);
  const double rate = framing.rate;
  const auto num_samples = static_cast<std::int64_t>(samples.size());
  for (const auto& segment : hearth::examples::find_segments(probabilities, num_samples, rules)) {
    std::printf("speech %8.3f s to %8.3f s\n", static_cast<double>(segment.begin) / rate,
                static_cast<double>(segment.end) / rate);
  }
  const double audio = static_cast<double>(num_samples) / rate;
  const auto stats = detector.stats();
  std::printf("%zu chunks of %.1f s audio in %.3f s: real-time factor %.5f, %.1f us a chunk\n", probabilities.size(),
              audio, seconds, seconds / audio, 1e6 * seconds / static_cast<double>(probabilities.size()));
  std::printf(
      "prepared in %.1f ms (RPC %.2f ms): %u kernels, %u compiled now; first result %.0f ms after process start\n",
      stats.prepare_ms, stats.rpc_ms, stats.kernels, stats.compiled_kernels, first_ms);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Finds speech in a mono recording with Silero VAD.", "silero_vad");
  Flags flags;
  app.add_option("--model", flags.model,
                 "silero_vad.onnx (16 and 8 kHz), silero_vad_16k_op15.onnx or silero_vad_16k.safetensors")
      ->required();
  app.add_option("--wav", flags.wav, "16-bit PCM, mono, 16 or 8 kHz")->required();
  app.add_option("--probs", flags.probs, "Write one probability a line to this file");
  app.add_option("--threads", flags.threads, "Threads of the replay; 0: every CPU")->capture_default_str();
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
