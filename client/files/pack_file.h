// Packs as files (docs/fleet.md): entries of a node's cache with the statements that sign them, and their files, each
// once. Reading checks that the file is whole; who signed it, the daemon that takes the entries checks. Thread-safe.
// Errors: those of sectioned_file.h and of base/file.h, which begin with the path; INVALID_ARGUMENT where the manifest
// names files that are not there.
//
//   absl::StatusOr<PackFile> pack = read_pack_file("model.hearthpack");
//   for (const v1::PackEntry& entry : pack->manifest.entries()) send(entry, pack->file(entry.files(0)));
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "hearth/v1/pack.pb.h"

namespace hearth::client {

struct PackFile {
  Digest sha256{};  // of the whole file
  v1::PackManifest manifest;
  std::map<std::string, std::string_view> files;     // by digest
  std::shared_ptr<const runtime::MappedFile> owner;  // of their bytes; null: the caller's

  std::string_view file(const std::string& digest) const { return files.at(digest); }
};

absl::StatusOr<PackFile> read_pack_file(const std::string& path);
absl::StatusOr<PackFile> parse_pack(std::string_view bytes);

// `files`: what the manifest lists, in its order.
absl::StatusOr<std::string> pack_bytes(const v1::PackManifest& manifest, const std::vector<std::string_view>& files);

}  // namespace hearth::client
