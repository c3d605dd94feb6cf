#include "examples/silero_vad/wav.h"

#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace hearth::examples {
namespace {

constexpr std::uint32_t kPcm = 1;
constexpr std::uint32_t kExtensible = 0xfffe;  // the real format follows in the chunk's extension

std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

absl::Status refuse(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(str_cat(path, ": ", why));
}

// The rate.
absl::StatusOr<std::uint32_t> check_format(std::string_view chunk, const std::string& path) {
  if (chunk.size() < 16) return refuse(path, "has a truncated 'fmt ' chunk");
  std::uint32_t format = little_endian(chunk, 0, 2);
  if (format == kExtensible && chunk.size() >= 26) format = little_endian(chunk, 24, 2);
  const std::uint32_t channels = little_endian(chunk, 2, 2);
  const std::uint32_t rate = little_endian(chunk, 4, 4);
  const std::uint32_t bits = little_endian(chunk, 14, 2);
  const bool known_rate = rate == 16000 || rate == 8000;
  if (format == kPcm && channels == 1 && known_rate && bits == 16) return rate;
  return refuse(path, str_cat("expected 16-bit PCM, 1 channel, 16000 or 8000 Hz; found format ", format, ", ", bits,
                              " bits, ", channels, " channel(s), ", rate, " Hz"));
}

}  // namespace

absl::StatusOr<Recording> read_wav(const std::string& path) {
  const absl::StatusOr<std::string> content = hearth::runtime::read_file(path);
  if (!content.ok()) return content.status();
  return parse_wav(*content, path);
}

absl::StatusOr<Recording> parse_wav(std::string_view content, const std::string& path) {
  if (content.size() < 12 || content.substr(0, 4) != "RIFF" || content.substr(8, 4) != "WAVE") {
    return refuse(path, "is not a WAV file");
  }
  Recording recording;
  bool have_format = false;
  std::size_t at = 12;
  while (content.size() - at >= 8) {
    const std::string_view id = content.substr(at, 4);
    const std::size_t size = little_endian(content, at + 4, 4);
    at += 8;
    if (size > content.size() - at) return refuse(path, str_cat("is truncated inside its '", id, "' chunk"));
    const std::string_view chunk = content.substr(at, size);
    if (id == "fmt ") {
      const absl::StatusOr<std::uint32_t> rate = check_format(chunk, path);
      if (!rate.ok()) return rate.status();
      recording.rate = *rate;
      have_format = true;
    } else if (id == "data") {
      if (!have_format) return refuse(path, "has its 'data' chunk before its 'fmt ' chunk");
      std::vector<std::int16_t>& samples = recording.samples;
      samples.resize(size / 2);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        samples[i] = static_cast<std::int16_t>(little_endian(chunk, 2 * i, 2));
      }
      return recording;
    }
    at += size + size % 2;  // chunks are padded to even sizes
    if (at > content.size()) break;
  }
  return refuse(path, "has no 'data' chunk");
}

}  // namespace hearth::examples
