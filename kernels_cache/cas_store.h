// CasStore: content-addressed files, `cas/ab/abcdef…`, named by the SHA-256 of their bytes.
//
// A file appears under its final name only whole and durable: temp → fsync → close → rename → fsync(directory).
// An Intent marks a digest while its index row is not committed yet, so a crash in between leaves no orphan: the next
// open() reports the marker. Owns no index and knows no limit. Thread-safe; the FileSystem must outlive it. Errors:
// those of FileSystem; DATA_LOSS for bytes that do not match their digest. Example:
//   auto cas = CasStore::open(posix_file_system(), dir);
//   absl::Status stored = (*cas)->write(sha256(bytes), bytes);
//   absl::StatusOr<std::string> same = (*cas)->read(sha256(bytes));
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels_cache/file_system.h"

namespace hearth::cache {

class CasStore {
 public:
  // Creates the folders, sweeps temporary files and collects leftover intents.
  // `below`: another cache directory, of which files are only read, "" for none.
  static absl::StatusOr<std::unique_ptr<CasStore>> open(FileSystem& file_system, std::string dir,
                                                        std::string below = "");

  // Where the file is read: in the directory below when it is there alone.
  std::string path_of(const Digest& digest) const;

  // Durable when OK; otherwise a new file is not there under its final name. Replaces a file of that digest.
  absl::Status write(const Digest& digest, std::string_view bytes);
  // Bytes that match the digest. NOT_FOUND, DATA_LOSS.
  absl::StatusOr<std::string> read(const Digest& digest);
  absl::StatusOr<FileId> identify(const Digest& digest) { return file_system_.identify(path_of(digest)); }
  absl::Status remove(const Digest& digest) { return file_system_.remove_file(own_path(digest)); }

  // Moves the file to quarantine/<hex>-<number>; keeps at most kMaxQuarantined files, dropping the oldest.
  absl::Status quarantine(const Digest& digest, std::int64_t now_unix_ns);
  // The same for any file of the cache directory, e.g. a damaged index.
  absl::Status quarantine_file(const std::string& path, std::string_view name, std::int64_t now_unix_ns);

  // Marks `digest` until end_intent(marker).
  absl::StatusOr<std::string> begin_intent(const Digest& digest);
  void end_intent(const std::string& marker);
  // Intents of a process that died, from open(): the file must go if no index row has it.
  struct LeftIntent {
    Digest digest{};
    std::string marker;
  };
  const std::vector<LeftIntent>& left_intents() const { return left_intents_; }

  // Digests of the files of one of the kNumShards folders, sorted; names that are no digest are skipped.
  absl::StatusOr<std::vector<Digest>> list_shard(unsigned shard);

  // Every file of every shard.
  void remove_all();

  // Writes, syncs and removes a small file: can the disk take a put?
  absl::Status probe();

  static constexpr unsigned kNumShards = 256;
  static constexpr std::size_t kMaxQuarantined = 1024;

 private:
  CasStore(FileSystem& file_system, std::string dir, std::string below)
      : file_system_(file_system), dir_(std::move(dir)), below_(std::move(below)) {}
  std::string own_path(const Digest& digest) const;
  absl::Status make_folders();
  // Creates the shard's folder durably unless it is known to be there.
  absl::Status make_shard(unsigned shard);
  absl::Status sweep_temps();
  absl::Status write_temp(const std::string& temp, std::string_view bytes);
  std::string shard_dir(unsigned shard) const;

  FileSystem& file_system_;
  const std::string dir_;
  const std::string below_;
  std::atomic<std::uint64_t> sequence_{0};
  std::array<std::atomic<bool>, kNumShards> shard_durable_{};
  std::vector<LeftIntent> left_intents_;
};

}  // namespace hearth::cache
