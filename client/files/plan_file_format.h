// How a plan file begins, for those who write and read one (docs/plan_file.md). Inside client/files only.
#pragma once
#include <cstdint>
#include <string_view>

namespace hearth::client {

inline constexpr std::string_view kMagic = "HEARTHPF";
inline constexpr std::uint64_t kAlignment = 64;  // of every section
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 26;

// Little-endian, at the file's start. 64 bytes.
struct PlanFileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t file_bytes;
  std::uint64_t manifest_bytes;
  std::uint8_t manifest_sha256[32];
};
static_assert(sizeof(PlanFileHeader) == kAlignment);

constexpr std::uint64_t padding_after(std::uint64_t size) { return (kAlignment - size % kAlignment) % kAlignment; }

}  // namespace hearth::client
