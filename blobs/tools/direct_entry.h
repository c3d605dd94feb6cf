// The <stem>.json beside a <stem>.so: what the object was made of, and whether that is still so.
//
// Plain values; thread-safe. A file that is damaged, of another version or about something else is no entry. Example:
//   if (auto entry = load_entry(folder, spec); entry && still_right(*entry, spec, digest, folder))
//   use(entry->sha256_hex);
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/file_stamp.h"
#include "blobs/tools/blob_compiler.h"

namespace hearth::blobs {

struct EntryRecord {
  std::string identity;  // of the spec: spec_identity()
  std::string toolchain_digest;
  std::string sha256_hex;  // of the object
  files::FileStamp stamp;  // of the object
  double seconds = 0;
  std::vector<Dependency> dependencies;
};

// One line of JSON: equal for specs that are compiled alike, wherever the root is.
std::string spec_identity(const BlobSpec& spec);

std::string object_path(const std::string& folder, const std::string& stem);
std::string entry_path(const std::string& folder, const std::string& stem);

std::optional<EntryRecord> load_entry(const std::string& folder, const BlobSpec& spec);
std::string entry_json(const EntryRecord& record);

// `toolchain_digest` empty: there is no compiler on this machine, and no other result can be had.
bool still_right(const EntryRecord& record, const BlobSpec& spec, const std::string& toolchain_digest,
                 const std::string& folder);

}  // namespace hearth::blobs
