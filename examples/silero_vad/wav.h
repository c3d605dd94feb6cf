// WAV files: RIFF with 16-bit PCM, mono, 16 or 8 kHz. Chunks other than `fmt ` and `data` are skipped; a data chunk
// that claims more than the file holds is an error. Thread-safe. Errors: one line naming the file and what is expected.
//
//   absl::StatusOr<Recording> speech = read_wav("speech.wav");
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::examples {

struct Recording {
  std::uint32_t rate = 16000;  // samples a second: 16000 or 8000
  std::vector<std::int16_t> samples;
};

absl::StatusOr<Recording> read_wav(const std::string& path);
// The file's content; `path` only names it in errors.
absl::StatusOr<Recording> parse_wav(std::string_view content, const std::string& path);

}  // namespace hearth::examples
