// Speech segments from probabilities: thresholds, shortest speech and silence, padding.
#include "examples/silero_vad/segments.h"

#include <catch2/catch.hpp>

using hearth::examples::find_segments;
using hearth::examples::Segment;

namespace {

std::vector<float> concat(std::initializer_list<std::pair<int, float>> runs) {
  std::vector<float> out;
  for (const auto& [count, value] : runs) out.insert(out.end(), static_cast<std::size_t>(count), value);
  return out;
}

std::vector<Segment> segments(const std::vector<float>& probabilities) {
  return find_segments(probabilities, static_cast<std::int64_t>(probabilities.size()) * 512);
}

}  // namespace

TEST_CASE("silence has no segments") {
  CHECK(segments({}).empty());
  CHECK(segments(concat({{100, 0.1F}})).empty());
}

TEST_CASE("one stretch of speech is padded by 30 ms on both sides") {
  CHECK(segments(concat({{10, 0.0F}, {20, 0.9F}, {10, 0.0F}})) ==
        std::vector<Segment>{{10 * 512 - 480, 30 * 512 + 480}});
}

TEST_CASE("speech at both ends is clamped to the recording") {
  CHECK(segments(concat({{20, 0.9F}})) == std::vector<Segment>{{0, 20 * 512}});
}

TEST_CASE("speech under 250 ms is dropped") {
  CHECK(segments(concat({{10, 0.0F}, {7, 0.9F}, {20, 0.0F}})).empty());
  CHECK(segments(concat({{10, 0.0F}, {8, 0.9F}, {20, 0.0F}})).size() == 1);
}

TEST_CASE("silence under 100 ms and values between the thresholds do not end speech") {
  CHECK(segments(concat({{10, 0.9F}, {3, 0.1F}, {10, 0.9F}})).size() == 1);
  CHECK(segments(concat({{10, 0.9F}, {50, 0.4F}, {10, 0.9F}})).size() == 1);
  CHECK(segments(concat({{10, 0.9F}, {6, 0.1F}, {10, 0.9F}})).size() == 2);
}

TEST_CASE("0.5 enters, 0.35 stays, below 0.35 leaves") {
  CHECK(segments(concat({{20, 0.49F}})).empty());
  CHECK(segments(concat({{20, 0.5F}})).size() == 1);
  CHECK(segments(concat({{20, 0.5F}, {20, 0.36F}})) == std::vector<Segment>{{0, 40 * 512}});
}
