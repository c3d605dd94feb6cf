// From one speech probability a chunk to speech segments, as Silero VAD's get_speech_timestamps does it: speech begins
// at `enter`, ends where the probability stays below `leave` for `min_silence`; short segments are dropped and the rest
// padded, sharing a short gap. Pure function. Source: snakers4/silero-vad, utils_vad.py.
//
//   std::vector<Segment> speech = find_segments(probabilities, samples.size());
#pragma once
#include <cstdint>
#include <vector>

namespace hearth::examples {

struct SegmentRules {
  double enter = 0.5;
  double leave = 0.35;
  std::int64_t chunk = 512;            // samples a probability stands for
  std::int64_t min_speech = 250 * 16;  // samples, like the two below
  std::int64_t min_silence = 100 * 16;
  std::int64_t pad = 30 * 16;
  // The same times at another number of samples a second.
  static SegmentRules of_rate(std::int64_t rate) {
    SegmentRules rules;
    for (std::int64_t* samples : {&rules.chunk, &rules.min_speech, &rules.min_silence, &rules.pad})
      *samples = *samples * rate / 16000;
    return rules;
  }
};

// Half-open, in samples.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Segment&) const = default;
};

std::vector<Segment> find_segments(const std::vector<float>& probabilities, std::int64_t num_samples,
                                   const SegmentRules& rules = {});

}  // namespace hearth::examples
