// Silero VAD on a minute of speech, against the probabilities of an independent judge: numpy's in f64, or those that
// lie beside the recording in the folder of HEARTH_TEST_MODELS.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/place.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"

using namespace hearth::integration;

namespace {

constexpr double kTolerance = 1e-3;
constexpr std::size_t kChunks = 1875;

std::vector<double> numbers(const fs::path& path) {
  std::ifstream file(path);
  return {std::istream_iterator<double>(file), {}};
}

// Silero's rule, in samples and independent of the example's own code: enter at 0.5, leave
// when below 0.35 for 100 ms, drop what is not longer than 250 ms, pad by 30 ms but share a short gap.
std::vector<std::string> segments_of(const std::vector<double>& probabilities, long samples) {
  struct Span {
    long begin, end;
  };
  std::vector<Span> spans;
  bool speaking = false;
  long begin = 0, silent_from = -1;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const long at = static_cast<long>(i) * 512;
    if (probabilities[i] >= 0.5) {
      silent_from = -1;
      if (!speaking) begin = at;
      speaking = true;
    } else if (speaking && probabilities[i] < 0.35) {
      if (silent_from < 0) silent_from = at;
      if (at - silent_from >= 1600) {
        if (silent_from - begin > 4000) spans.push_back({begin, silent_from});
        speaking = false;
        silent_from = -1;
      }
    }
  }
  if (speaking && samples - begin > 4000) spans.push_back({begin, samples});
  std::vector<Span> padded = spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const long before = i == 0 ? 960 : std::min(960L, spans[i].begin - spans[i - 1].end);
    const long after = i + 1 == spans.size() ? 960 : std::min(960L, spans[i + 1].begin - spans[i].end);
    padded[i].begin = std::max(0L, spans[i].begin - (before < 960 ? before / 2 : 480));
    padded[i].end = std::min(samples, spans[i].end + (after < 960 ? after / 2 : 480));
  }
  std::vector<std::string> lines;
  for (const Span& span : padded) {
    char line[64];
    std::snprintf(line, sizeof line, "speech %8.3f s to %8.3f s", static_cast<double>(span.begin) / 16000,
                  static_cast<double>(span.end) / 16000);
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

namespace {

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::fabs(a[i] - b[i]);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst;
}

}  // namespace

TEST_CASE("silero: the official file, whose rate chooses between two networks, at both rates") {
  const fs::path model = hearth::test::model_file("silero_vad.onnx"), wav = hearth::test::model_file("speech_16k.wav");
  const fs::path list = hearth::test::model_file("silero_probs_speech_16k.txt");
  if (model.empty() || wav.empty() || list.empty()) SKIP_CASE(hearth::test::no_model("silero_vad.onnx"));
  Place place;
  const std::string probs = place.file("probs");
  const Ran ran = place.run({"silero_vad", "--model", model, "--wav", wav, "--probs", probs});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const std::vector<double> expected = numbers(list), got = numbers(probs);
  REQUIRE((expected.size() == kChunks && got.size() == kChunks));
  const double worst = largest_difference(got, expected);
  CHECK(worst <= 1e-5);
  // At 8 kHz: every other sample, as many chunks, and numpy's word for the first of them.
  const std::string sound = content(wav);
  std::string half = sound.substr(0, 44);
  for (std::size_t at = 44; at + 4 <= sound.size(); at += 4) half += sound.substr(at, 2);
  const auto put = [&](std::size_t at, std::uint32_t value) { std::memcpy(half.data() + at, &value, sizeof value); };
  put(4, static_cast<std::uint32_t>(half.size() - 8));
  put(24, 8000);
  put(28, 16000);
  put(40, static_cast<std::uint32_t>(half.size() - 44));
  const std::string narrow = place.write("speech_8k.wav", half), narrow_probs = place.file("probs_8k");
  const Ran at_8k = place.run({"silero_vad", "--model", model, "--wav", narrow, "--probs", narrow_probs});
  INFO(at_8k.err);
  REQUIRE(at_8k.code == 0);
  const std::vector<double> got_8k = numbers(narrow_probs);
  REQUIRE(got_8k.size() == kChunks);
  const Ran judge = place.run({"/usr/bin/python3", (source_dir() / "tests/integration/silero_onnx_numpy.py").string(),
                               model.string(), narrow, "8000", "300"});
  INFO(judge.err);
  REQUIRE(judge.code == 0);
  std::istringstream lines(judge.out);
  const std::vector<double> wanted_8k{std::istream_iterator<double>(lines), {}};
  REQUIRE(wanted_8k.size() == 300);
  const double worst_8k = largest_difference({got_8k.begin(), got_8k.begin() + 300}, wanted_8k);
  CHECK(worst_8k <= 1e-5);
  std::cout << "silero, official file: largest difference " << worst << " at 16 kHz, " << worst_8k << " at 8 kHz\n";
}

TEST_CASE("silero: every probability and every segment of a minute of speech", "[device]") {
  const fs::path model = hearth::test::model_file("silero_vad_16k_op15.onnx"),
                 wav = hearth::test::model_file("speech_16k.wav");
  const fs::path list = hearth::test::model_file("silero_probs_speech_16k.txt");
  if (model.empty() || wav.empty() || list.empty()) SKIP_CASE(hearth::test::no_model("silero_vad_16k_op15.onnx"));
  const std::vector<double> expected = numbers(list);
  REQUIRE(expected.size() == kChunks);

  Place place;
  std::string texts[2];
  for (int i = 0; i < 2; ++i) {
    const std::string probs = place.file("probs" + std::to_string(i));
    const Ran ran = place.run({"silero_vad", "--model", model, "--wav", wav, "--probs", probs});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    texts[i] = content(probs);
    const std::vector<double> got = numbers(probs);
    REQUIRE(got.size() == kChunks);
    double worst = 0;
    for (std::size_t c = 0; c < kChunks; ++c) {
      const double apart = std::fabs(got[c] - expected[c]);
      worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
    }
    CHECK(worst <= kTolerance);
    std::vector<std::string> segments, rest;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      (line.rfind("speech ", 0) == 0 ? segments : rest).push_back(line);
    }
    const long samples = (static_cast<long>(fs::file_size(wav)) - 44) / 2;
    CHECK(segments == segments_of(expected, samples));
    CHECK(segments.size() > 1);
    std::cout << "silero, process " << i + 1 << ": " << got.size() << " probabilities, largest difference " << worst
              << "; " << segments.size() << " segments\n";
    for (const std::string& line : rest) std::cout << "  " << line << "\n";
  }
  CHECK(texts[0] == texts[1]);
  CHECK(place.stats()["plan_misses"] == 1);
}
