#include "base/file_digest/file_digest_cache.h"

#include <absl/strings/str_cat.h>
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/status_macros.h"

namespace hearth::files {
namespace {

// Null when it cannot be read to its end.
std::shared_ptr<const FolderNames> list(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
  if (!listing) return nullptr;
  auto found = std::make_shared<FolderNames>();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (found->names.size() == FileDigestCache::kMaxNames) {
      found->names = {};
      found->too_many = true;
      return found;
    }
    found->names.emplace_back(name);
  }
  if (errno != 0) return nullptr;
  std::sort(found->names.begin(), found->names.end());
  return found;
}

}  // namespace

void FileSnapshot::add(const std::string& path, const std::optional<FileStamp>& stamp) {
  files_.emplace_back(path, stamp);
  settled_ = settled_ && (!stamp || is_settled(*stamp));
}

bool FileSnapshot::unchanged() const {
  return std::all_of(files_.begin(), files_.end(),
                     [](const auto& file) { return stamp_of(file.first) == file.second; });
}

absl::StatusOr<Digest> FileDigestCache::digest(const std::string& path, FileSnapshot* watched) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return file_error(path, errno);
  // Should the file be another one below, this stamp is not its any more.
  if (watched != nullptr) watched->add(path, stamp_of(info));
  const FileId id(info.st_dev, info.st_ino);
  {
    std::lock_guard lock(mutex_);
    const auto known = digests_.find(id);
    if (known != digests_.end() && known->second.stamp == stamp_of(info)) return known->second.value;
  }
  // Looked at before it is opened too: opening a device may do things.
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  HEARTH_ASSIGN_OR_RETURN(const FileDigest file, file_digest(path, max_file_bytes_));
  if (is_settled(file.stamp)) {
    std::lock_guard lock(mutex_);
    if (digests_.size() >= kMaxRemembered) digests_.clear();
    digests_[{file.stamp.device, file.stamp.inode}] = {file.stamp, file.digest};
  }
  return file.digest;
}

std::shared_ptr<const FolderNames> FileDigestCache::names_in(const std::string& folder, FileSnapshot* watched) {
  const std::optional<FileStamp> stamp = stamp_of(folder);
  if (watched != nullptr) watched->add(folder, stamp);
  if (!stamp) return nullptr;
  const FileId id(stamp->device, stamp->inode);
  {
    std::lock_guard lock(mutex_);
    const auto known = folders_.find(id);
    if (known != folders_.end() && known->second.stamp == *stamp) return known->second.value;
  }
  auto found = list(folder);
  if (found && is_settled(*stamp)) {
    std::lock_guard lock(mutex_);
    if (const auto old = folders_.find(id); old != folders_.end()) num_names_ -= old->second.value->names.size();
    if (folders_.size() >= kMaxRemembered || num_names_ + found->names.size() > kMaxNamesRemembered) {
      folders_.clear();
      num_names_ = 0;
    }
    folders_[id] = {*stamp, found};
    num_names_ += found->names.size();
  }
  return found;
}

}  // namespace hearth::files
