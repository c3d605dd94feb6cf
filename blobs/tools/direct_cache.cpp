#include "blobs/tools/direct_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/file_digest/file_digest.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/direct_entry.h"
#include "blobs/tools/stem_lock.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kElsewhere[] = "; set CK_JIT_CACHE_DIR to a folder of your own";

absl::Status check_stem(const std::string& stem) {
  if (!stem.empty() && stem.size() <= 200 && stem[0] != '.' && stem.find('/') == std::string::npos &&
      stem.find('\0') == std::string::npos)
    return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat("stem \"", stem, "\" cannot be the name of a file"));
}

// The folder is this user's alone: what lies there is loaded and run.
absl::Status check_folder(const std::string& folder) {
  if (!folder.starts_with('/'))
    return absl::InvalidArgumentError(str_cat("cache folder \"", folder, "\" is not an absolute path"));
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, str_cat(folder, ": cache folder"));
  if (!S_ISDIR(info.st_mode))
    return absl::FailedPreconditionError(str_cat(folder, ": the cache is not a folder", kElsewhere));
  if (info.st_uid != ::geteuid())
    return absl::PermissionDeniedError(
        str_cat(folder, ": the cache belongs to user ", info.st_uid, ", this is user ", ::geteuid(), kElsewhere));
  if ((info.st_mode & 022) != 0)
    return absl::PermissionDeniedError(str_cat(folder,
                                               ": other users can write to the cache; chmod go-w it, or empty "
                                               "it if you do not trust them"));
  return absl::OkStatus();
}

absl::Status prepare_folder(const std::string& folder) {
  if (!folder.starts_with('/')) return check_folder(folder);
  std::error_code error;
  if (!fs::exists(folder, error)) {
    fs::create_directories(fs::path(folder).parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return absl::PermissionDeniedError(
          str_cat(folder, ": the cache cannot be made: ", std::generic_category().message(errno), kElsewhere));
  }
  return check_folder(folder);
}

std::optional<DirectHit> look_up(const BlobSpec& spec, const std::string& toolchain_digest, const std::string& folder) {
  const auto entry = load_entry(folder, spec);
  if (!entry || !still_right(*entry, spec, toolchain_digest, folder)) return std::nullopt;
  return DirectHit{object_path(folder, spec.stem), entry->sha256_hex, true, 0};
}

// As look_up, and the object's bytes are those that were compiled: one that is damaged is compiled again.
std::optional<DirectHit> find(const BlobSpec& spec, const std::string& toolchain_digest, const std::string& folder) {
  std::optional<DirectHit> hit = look_up(spec, toolchain_digest, folder);
  if (!hit) return std::nullopt;
  const auto file = files::file_digest(hit->path);
  return file.ok() && to_hex(file->digest) == hit->sha256_hex ? hit : std::nullopt;
}

// A folder for one compile inside the cache, so that its result can be renamed into place; gone when this is.
class WorkFolder {
 public:
  WorkFolder(const std::string& cache, const std::string& stem) {
    const std::string prefix = str_cat(".", stem, ".work-");
    // The lock is held: whoever left these was killed.
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache, error))
      if (entry.path().filename().string().starts_with(prefix)) fs::remove_all(entry.path(), error);
    path_ = str_cat(cache, "/", prefix, "XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

absl::Status put(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, str_cat(to, ": cannot be put into the cache"));
}

// Entry and object never disagree: the old entry goes before the object changes, the new one comes after it.
absl::StatusOr<DirectHit> keep(const BlobSpec& spec, const CompiledBlob& blob, const std::string& toolchain_digest,
                               const std::string& folder, const std::string& work) {
  const std::string object = object_path(folder, spec.stem), entry = entry_path(folder, spec.stem);
  HEARTH_ASSIGN_OR_RETURN(const auto digest, files::file_digest(blob.path));
  const std::string sha256_hex = to_hex(digest.digest);
  ::chmod(blob.path.c_str(), 0700);
  ::unlink(entry.c_str());
  HEARTH_RETURN_IF_ERROR(put(blob.path, object));
  const DirectHit made{object, sha256_hex, false, blob.seconds};
  if (blob.changed_meanwhile) return made;  // good for this call, but nobody knows what of
  const std::string written = work + "/entry.json";
  const EntryRecord record{.identity = spec_identity(spec),
                           .toolchain_digest = toolchain_digest,
                           .sha256_hex = sha256_hex,
                           .stamp = files::stamp_of_file(object).value_or(files::FileStamp{}),
                           .seconds = blob.seconds,
                           .dependencies = blob.dependencies};
  HEARTH_RETURN_IF_ERROR(runtime::write_file(written, {entry_json(record)}));
  ::chmod(written.c_str(), 0600);
  HEARTH_RETURN_IF_ERROR(put(written, entry));
  return made;
}

absl::StatusOr<DirectHit> compile_and_keep(const BlobSpec& spec, const Toolchain& toolchain,
                                           const DirectOptions& options) {
  const WorkFolder work(options.cache_dir, spec.stem);
  if (work.path().empty())
    return absl::PermissionDeniedError(
        str_cat(options.cache_dir, ": cannot be written: ", std::generic_category().message(errno), kElsewhere));
  BlobCompileOptions limits = options.limits;
  limits.folder = work.path();
  if (options.progress) options.progress(str_cat("compiling ", spec.stem, " with ", toolchain.compiler));
  HEARTH_ASSIGN_OR_RETURN(const auto blob, compile_blob(spec, toolchain, limits));
  if (options.progress && !blob.log.empty()) options.progress(blob.log);
  return keep(spec, blob, toolchain.digest, options.cache_dir, work.path());
}

// Failures for those who wait: "code message" behind the identity of what was compiled.
std::string failure_words(const std::string& identity, const absl::Status& status) {
  return str_cat(identity, " ", static_cast<int>(status.code()), " ", std::string(status.message()));
}

std::optional<absl::Status> failure_of(const std::string& identity, const std::string& words) {
  if (!words.starts_with(identity + " ")) return std::nullopt;
  const std::size_t start = identity.size() + 1, end = words.find(' ', start);
  if (end == std::string::npos) return std::nullopt;
  return absl::Status(static_cast<absl::StatusCode>(std::atoi(words.c_str() + start)), words.substr(end + 1));
}

struct Wanted {
  absl::StatusOr<Toolchain> toolchain;
  std::string digest;    // empty: there is no compiler
  std::string identity;  // of spec and compiler
};

absl::StatusOr<Wanted> wanted(const BlobSpec& spec, const DirectOptions& options) {
  HEARTH_RETURN_IF_ERROR(check_stem(spec.stem));
  Wanted wanted{find_toolchain(spec.toolchain, options.bitcode_folder), "", ""};
  if (wanted.toolchain.ok()) wanted.digest = wanted.toolchain->digest;
  if (!wanted.toolchain.ok() && !absl::IsNotFound(wanted.toolchain.status())) return wanted.toolchain.status();
  wanted.identity = str_cat(spec_identity(spec), wanted.digest);
  return wanted;
}

}  // namespace

absl::StatusOr<DirectHit> obtain(const BlobSpec& spec, const DirectOptions& options) {
  HEARTH_ASSIGN_OR_RETURN(const auto want, wanted(spec, options));
  HEARTH_RETURN_IF_ERROR(prepare_folder(options.cache_dir));
  for (;;) {
    if (auto hit = find(spec, want.digest, options.cache_dir)) return *std::move(hit);
    HEARTH_RETURN_IF_ERROR(want.toolchain.status());
    HEARTH_ASSIGN_OR_RETURN(auto lock, StemLock::take(options.cache_dir, spec.stem, 2 * options.limits.wall_limit));
    if (const auto failure = failure_of(want.identity, lock.words())) return *failure;
    if (!lock.ours()) continue;
    // Made between the look and the lock.
    if (auto hit = find(spec, want.digest, options.cache_dir)) return *std::move(hit);
    auto made = compile_and_keep(spec, *want.toolchain, options);
    if (!made.ok()) lock.leave(failure_words(want.identity, made.status()));
    return made;
  }
}

bool is_cached(const BlobSpec& spec, const DirectOptions& options) {
  const auto want = wanted(spec, options);
  return want.ok() && check_folder(options.cache_dir).ok() && look_up(spec, want->digest, options.cache_dir);
}

absl::StatusOr<std::vector<DirectEntry>> list_direct(const std::string& cache_dir) {
  std::vector<DirectEntry> entries;
  std::error_code error;
  if (!fs::exists(cache_dir, error)) return entries;
  HEARTH_RETURN_IF_ERROR(check_folder(cache_dir));
  for (const fs::directory_entry& entry : fs::directory_iterator(cache_dir, error)) {
    if (entry.path().extension() != ".so") continue;
    const auto stamp = files::stamp_of_file(entry.path());
    if (stamp) entries.push_back({entry.path().stem(), entry.path(), stamp->size_bytes});
  }
  if (error) return absl::PermissionDeniedError(str_cat(cache_dir, ": ", error.message()));
  std::sort(entries.begin(), entries.end(), [](const DirectEntry& a, const DirectEntry& b) { return a.stem < b.stem; });
  return entries;
}

absl::StatusOr<bool> remove_direct(const std::string& cache_dir, const std::string& stem) {
  HEARTH_RETURN_IF_ERROR(check_stem(stem));
  std::error_code error;
  if (!fs::exists(cache_dir, error)) return false;
  HEARTH_RETURN_IF_ERROR(check_folder(cache_dir));
  ::unlink(entry_path(cache_dir, stem).c_str());
  const std::string object = object_path(cache_dir, stem);
  if (::unlink(object.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return absl::ErrnoToStatus(errno, str_cat(object, ": cannot be removed"));
}

}  // namespace hearth::blobs
