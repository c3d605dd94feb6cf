#include "examples/silero_vad/segments.h"

#include <algorithm>

namespace hearth::examples {
namespace {

std::vector<Segment> raw_segments(const std::vector<float>& probabilities, std::int64_t num_samples,
                                  const SegmentRules& rules) {
  std::vector<Segment> segments;
  constexpr std::int64_t kNone = -1;
  std::int64_t begin = kNone;
  std::int64_t quiet_since = kNone;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double probability = probabilities[i];
    const std::int64_t now = static_cast<std::int64_t>(i) * rules.chunk;
    if (probability >= rules.enter) {
      quiet_since = kNone;
      if (begin == kNone) begin = now;
      continue;
    }
    if (probability >= rules.leave || begin == kNone) continue;
    if (quiet_since == kNone) quiet_since = now;
    if (now - quiet_since < rules.min_silence) continue;
    if (quiet_since - begin > rules.min_speech) segments.push_back({begin, quiet_since});
    begin = kNone;
    quiet_since = kNone;
  }
  if (begin != kNone && num_samples - begin > rules.min_speech) segments.push_back({begin, num_samples});
  return segments;
}

}  // namespace

std::vector<Segment> find_segments(const std::vector<float>& probabilities, std::int64_t num_samples,
                                   const SegmentRules& rules) {
  std::vector<Segment> segments = raw_segments(probabilities, num_samples, rules);
  if (segments.empty()) return segments;
  segments.front().begin = std::max<std::int64_t>(0, segments.front().begin - rules.pad);
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const std::int64_t gap = segments[i + 1].begin - segments[i].end;
    const std::int64_t pad = gap < 2 * rules.pad ? gap / 2 : rules.pad;
    segments[i].end += pad;
    segments[i + 1].begin -= pad;
  }
  segments.back().end = std::min(num_samples, segments.back().end + rules.pad);
  return segments;
}

}  // namespace hearth::examples
