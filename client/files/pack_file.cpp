#include "client/files/pack_file.h"

#include <google/protobuf/stubs/logging.h>

#include "base/printable.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/files/sectioned_file.h"
#include "proto/versions.h"

namespace hearth::client {
namespace {

constexpr SectionedFormat kPackFile{"HEARTHPK", kPackVersion, "pack", "copy or export the pack again"};

absl::Status check_entry(const v1::PackEntry& entry, int index, const PackFile& pack) {
  for (const std::string& digest : entry.files()) {
    if (pack.files.contains(digest)) continue;
    return absl::InvalidArgumentError(
        str_cat("entry ", index, " needs the file ", printable(to_hex(digest), 64), ", which the pack does not have"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackFile> parse_pack(std::string_view bytes) {
  PackFile pack;
  HEARTH_ASSIGN_OR_RETURN(SectionReader reader, SectionReader::open(bytes, kPackFile));
  HEARTH_ASSIGN_OR_RETURN(const std::string_view manifest, reader.take_manifest());
  const google::protobuf::LogSilencer quiet;  // the status says it
  if (!pack.manifest.ParseFromArray(manifest.data(), static_cast<int>(manifest.size())) ||
      pack.manifest.entries().empty())
    return absl::InvalidArgumentError("the manifest is not one this version understands");
  for (int i = 0; i < pack.manifest.files_size(); ++i) {
    const v1::PackFile& file = pack.manifest.files(i);
    HEARTH_ASSIGN_OR_RETURN(const std::string_view content,
                            reader.take(file.size(), file.sha256(), str_cat("file ", i)));
    if (!pack.files.emplace(file.sha256(), content).second)
      return absl::InvalidArgumentError(str_cat("file ", i, " is there twice"));
  }
  if (!reader.at_end()) return reader.damaged("bytes follow the last file");
  for (int i = 0; i < pack.manifest.entries_size(); ++i)
    HEARTH_RETURN_IF_ERROR(check_entry(pack.manifest.entries(i), i, pack));
  HEARTH_ASSIGN_OR_RETURN(pack.sha256, runtime::sha256_mapped(bytes));
  return pack;
}

absl::StatusOr<PackFile> read_pack_file(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<const runtime::MappedFile> file, runtime::MappedFile::open(path));
  absl::StatusOr<PackFile> pack = parse_pack(file->bytes());
  if (!pack.ok()) return absl::Status(pack.status().code(), str_cat(path, ": ", pack.status().message()));
  pack->owner = std::move(file);
  return pack;
}

absl::StatusOr<std::string> pack_bytes(const v1::PackManifest& manifest, const std::vector<std::string_view>& files) {
  std::string bytes;
  const auto append = [&](const std::vector<std::string_view>& parts) {
    for (const std::string_view part : parts) bytes += part;
    return absl::OkStatus();
  };
  HEARTH_RETURN_IF_ERROR(write_sections(kPackFile, manifest.SerializeAsString(), files, append));
  return bytes;
}

}  // namespace hearth::client
