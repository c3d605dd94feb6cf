#include "client/files/sectioned_file.h"

#include <algorithm>
#include <cstring>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {
namespace {

constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 26;

// Little-endian, at the file's start.
struct SectionedHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t file_bytes;
  std::uint64_t manifest_bytes;
  std::uint8_t manifest_sha256[32];
};
static_assert(sizeof(SectionedHeader) == kSectionAlignment);

std::uint64_t padding_after(std::uint64_t size) {
  return (kSectionAlignment - size % kSectionAlignment) % kSectionAlignment;
}

}  // namespace

absl::Status SectionReader::damaged(const std::string& what) const {
  return absl::DataLossError(str_cat(what, "; ", format_.remedy));
}

absl::StatusOr<SectionReader> SectionReader::open(std::string_view file, const SectionedFormat& format) {
  SectionReader reader(file, format);
  if (!file.starts_with(format.magic)) {
    return absl::InvalidArgumentError(str_cat("not a ", format.noun, ": it does not begin with ", format.magic));
  }
  SectionedHeader header{};
  if (file.size() < sizeof header)
    return reader.damaged(str_cat("the file ends within its header, after ", file.size(), " bytes"));
  std::memcpy(&header, file.data(), sizeof header);
  if (header.version != format.version) {
    return absl::FailedPreconditionError(str_cat(format.noun, " version ", header.version,
                                                 "; this build reads version ", format.version, "; ", format.remedy,
                                                 " with this build"));
  }
  if (header.file_bytes != file.size()) {
    return reader.damaged(str_cat("the file has ", file.size(), " bytes; its header says ", header.file_bytes));
  }
  const std::uint64_t rest = file.size() - sizeof header;
  if (header.zero != 0 || header.manifest_bytes > std::min(rest, kMaxManifestBytes))
    return reader.damaged("the header is damaged");
  reader.at_ = sizeof header;
  reader.manifest_bytes_ = header.manifest_bytes;
  reader.manifest_digest_.assign(reinterpret_cast<const char*>(header.manifest_sha256), sizeof header.manifest_sha256);
  return reader;
}

absl::StatusOr<std::string_view> SectionReader::take_manifest() {
  return take(manifest_bytes_, manifest_digest_, "the manifest");
}

absl::StatusOr<std::string_view> SectionReader::take(std::uint64_t size, std::string_view digest,
                                                     const std::string& what) {
  const std::uint64_t left = file_.size() - at_;
  if (size > left || padding_after(size) > left - size) {
    return damaged(str_cat(what, " needs ", size, " bytes at offset ", at_, "; the file ends at ", file_.size()));
  }
  const std::string_view bytes = file_.substr(at_, size), padding = file_.substr(at_ + size, padding_after(size));
  HEARTH_ASSIGN_OR_RETURN(const Digest found, runtime::sha256_mapped(bytes));
  if (to_bytes(found) != digest) {
    return damaged(str_cat(what, " at offset ", at_, ", ", size, " bytes: its SHA-256 is not the one recorded"));
  }
  at_ += size;
  if (padding.find_first_not_of('\0') != std::string_view::npos)
    return damaged(str_cat("the padding after ", what, " at offset ", at_, " is not zero"));
  at_ += padding.size();
  return bytes;
}

absl::Status write_sections(const SectionedFormat& format, const std::string& manifest,
                            const std::vector<std::string_view>& sections,
                            const std::function<absl::Status(const std::vector<std::string_view>&)>& take) {
  const std::string zeros(kSectionAlignment, '\0');
  SectionedHeader header{};
  std::vector<std::string_view> parts = {{reinterpret_cast<const char*>(&header), sizeof header}};
  std::uint64_t total = sizeof header;
  const auto add = [&](std::string_view bytes) {
    parts.push_back(bytes);
    parts.push_back(std::string_view(zeros).substr(0, padding_after(bytes.size())));
    total += bytes.size() + padding_after(bytes.size());
  };
  add(manifest);
  for (const std::string_view section : sections) add(section);
  std::memcpy(header.magic, format.magic.data(), std::min(format.magic.size(), sizeof header.magic));
  header.version = format.version;
  header.file_bytes = total;
  header.manifest_bytes = manifest.size();
  const Digest digest = sha256(manifest);
  std::ranges::copy(digest, header.manifest_sha256);
  return take(parts);
}

}  // namespace hearth::client
