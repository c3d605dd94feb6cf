// Sectioned files: what plan files (docs/plan_file.md) and packs (docs/fleet.md) are. A header of 64 bytes, a manifest,
// and sections, each at a multiple of 64 bytes with zeros behind it; every byte is covered by a digest or must be zero.
// Plain functions and values; thread-safe. Errors: INVALID_ARGUMENT for another kind of file, FAILED_PRECONDITION for
// another version, DATA_LOSS, which ends with the remedy, for a file that is damaged or cut short.
//
//   absl::StatusOr<SectionReader> reader = SectionReader::open(bytes, kPlanFile);
//   absl::StatusOr<std::string_view> manifest = reader->take_manifest();
//   absl::StatusOr<std::string_view> section = reader->take(size, sha256, "the plan");
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::client {

struct SectionedFormat {
  std::string_view magic;  // of 8 bytes
  std::uint32_t version;
  std::string_view noun;    // "plan file"
  std::string_view remedy;  // where one is damaged: "export the plan again"
};

inline constexpr std::uint64_t kSectionAlignment = 64;

class SectionReader {
 public:
  // `file` stays alive while this is used. It must be whole: its length is in its header.
  static absl::StatusOr<SectionReader> open(std::string_view file, const SectionedFormat& format);

  // First this one, then section by section, in the file's order. `what` names it in errors.
  absl::StatusOr<std::string_view> take_manifest();
  absl::StatusOr<std::string_view> take(std::uint64_t size, std::string_view digest, const std::string& what);
  bool at_end() const { return at_ == file_.size(); }
  absl::Status damaged(const std::string& what) const;

 private:
  SectionReader(std::string_view file, const SectionedFormat& format) : file_(file), format_(format) {}

  std::string_view file_;
  SectionedFormat format_;
  std::uint64_t at_ = 0;
  std::uint64_t manifest_bytes_ = 0;
  std::string manifest_digest_;
};

// Hands the parts of a file one after the other to `take`; they live as long as `manifest` and what `sections` view.
absl::Status write_sections(const SectionedFormat& format, const std::string& manifest,
                            const std::vector<std::string_view>& sections,
                            const std::function<absl::Status(const std::vector<std::string_view>&)>& take);

}  // namespace hearth::client
