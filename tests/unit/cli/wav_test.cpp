// WAV files: 16-bit mono 16 kHz, extra chunks tolerated, everything else refused with the path.
#include "examples/silero_vad/wav.h"

#include <catch2/catch.hpp>
#include <random>

using Catch::Matchers::Contains;
using hearth::examples::parse_wav;

namespace {

std::string number(std::uint32_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string chunk(const std::string& id, const std::string& data) {
  return id + number(static_cast<std::uint32_t>(data.size()), 4) + data + std::string(data.size() % 2, '\0');
}

std::string format(std::uint32_t channels = 1, std::uint32_t rate = 16000, std::uint32_t bits = 16,
                   std::uint32_t tag = 1) {
  return chunk("fmt ", number(tag, 2) + number(channels, 2) + number(rate, 4) + number(rate * channels * bits / 8, 4) +
                           number(channels * bits / 8, 2) + number(bits, 2));
}

std::string riff(const std::string& chunks) {
  return "RIFF" + number(static_cast<std::uint32_t>(4 + chunks.size()), 4) + "WAVE" + chunks;
}

std::string error_of(const std::string& content) {
  const auto samples = parse_wav(content, "a.wav");
  return samples.ok() ? "no error" : std::string(samples.status().message());
}

}  // namespace

TEST_CASE("samples are read, extra chunks skipped") {
  const std::string data = number(1, 2) + number(0xffff, 2) + number(0x8000, 2);
  for (const std::string& content :
       {riff(format() + chunk("data", data)),
        riff(chunk("LIST", "odd") + format() + chunk("fact", "1234") + chunk("data", data) + chunk("id3 ", "x"))}) {
    const auto samples = parse_wav(content, "a.wav");
    REQUIRE(samples.ok());
    CHECK(samples->samples == std::vector<std::int16_t>{1, -1, -32768});
    CHECK(samples->rate == 16000);
  }
}

TEST_CASE("the other rate of the model is read, too") {
  const auto samples = parse_wav(riff(format(1, 8000) + chunk("data", "abcd")), "a.wav");
  REQUIRE(samples.ok());
  CHECK(samples->rate == 8000);
}

TEST_CASE("other formats are refused and described") {
  const std::string data = chunk("data", "abcd");
  CHECK_THAT(error_of(riff(format(2) + data)), Contains("a.wav") && Contains("2 channel(s)"));
  CHECK_THAT(error_of(riff(format(1, 44100) + data)), Contains("44100 Hz"));
  CHECK_THAT(error_of(riff(format(1, 16000, 8) + data)), Contains("8 bits"));
  CHECK_THAT(error_of(riff(format(1, 16000, 16, 3) + data)), Contains("format 3"));
  CHECK_THAT(error_of(riff(data)), Contains("before its 'fmt '"));
  CHECK_THAT(error_of(riff(format())), Contains("no 'data'"));
  CHECK_THAT(error_of("OggS and more bytes"), Contains("is not a WAV file"));
  CHECK_THAT(error_of(riff(format() + "data" + number(1000, 4) + "abcd")), Contains("truncated inside its 'data'"));
  CHECK_THAT(std::string(hearth::examples::read_wav("no/such.wav").status().message()), Contains("no/such.wav"));
}

TEST_CASE("truncated and altered files never crash") {
  const std::string whole = riff(format() + chunk("data", "abcdefgh"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(parse_wav(whole.substr(0, length), "a").ok());
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string altered = whole;
    altered[random() % altered.size()] = static_cast<char>(random());
    const auto samples = parse_wav(altered, "a.wav");
    if (samples.ok()) CHECK(samples->samples.size() <= whole.size() / 2);
  }
}
