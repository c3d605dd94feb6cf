// ToolchainRecord: a toolchain that was found, with the files it was found in, so that it need not be found again.
//
// Hashing a compiler takes a second; a record is right as long as none of its files changed, which stat calls tell.
// Records are kept in memory for the life of the process and as JSON in a private folder for the next one. Thread-safe.
// No errors: a record that cannot be read or written is not there. Example:
//   if (auto record = load_record(folder, key); record && files_unchanged(*record)) return record->toolchain;
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_stamp.h"
#include "blobs/tools/toolchain.h"

namespace hearth::blobs {

struct StampedFile {
  std::string path;
  files::FileStamp stamp;
  std::string sha256_hex;
};

struct ToolchainRecord {
  Toolchain toolchain;
  std::vector<StampedFile> files;
};

bool files_unchanged(const ToolchainRecord& record);

// `key` says what was looked for and where; one file a key. Read only when this user alone may write it.
std::optional<ToolchainRecord> load_record(const std::string& folder, const std::string& key);
void save_record(const std::string& folder, const std::string& key, const ToolchainRecord& record);

}  // namespace hearth::blobs
