// Opening the index, and setting a damaged one aside: never a crash, at worst an empty cache.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {

absl::Status KernelsCache::Impl::open_index() {
  std::unique_lock lock(index_mutex_);
  absl::Status opened = open_or_create_index(/*starting=*/true);
  if (absl::IsDataLoss(opened)) {
    warn(absl::StrCat(opened.message(), "; it was moved to ", options_.dir, "/quarantine and the cache starts empty"));
    HEARTH_RETURN_IF_ERROR(set_index_aside());
    opened = open_or_create_index(/*starting=*/true);
  }
  if (!opened.ok()) return opened;
  // A process died between writing a file and committing its row.
  for (const CasStore::LeftIntent& intent : cas_->left_intents()) {
    HEARTH_ASSIGN_OR_RETURN(bool known, index_->contains_blob(intent.digest));
    if (!known) cas_->remove(intent.digest).IgnoreError();
    cas_->end_intent(intent.marker);
  }
  warn_of_overlay();
  return absl::OkStatus();
}

// With index_mutex_ held exclusively.
absl::Status KernelsCache::Impl::open_or_create_index(bool starting) {
  index_.reset();
  absl::StatusOr<FileId> file = file_system_.identify(index_path());
  if (!file.ok() || file->size_bytes == 0) {
    if (absl::IsFailedPrecondition(file.status())) return absl::DataLossError("cache index: not a regular file");
    if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
    // No index: leftovers of an old one must not be taken for ours, and no file of the CAS is anybody's.
    HEARTH_RETURN_IF_ERROR(set_index_aside());
    // At start nobody uses them: they go before the new index exists, so that a crash here cannot forget them.
    if (starting) {
      cas_->remove_all();
    } else {
      sweep_wanted_ = true;
    }
  }
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<ActionCache> index, ActionCache::open(index_path()));
  index_ = std::move(index);
  ++index_generation_;
  return absl::OkStatus();
}

// With index_mutex_ held exclusively and the index closed.
absl::Status KernelsCache::Impl::set_index_aside() {
  for (const char* suffix : {"-wal", "-shm", ""}) {
    std::string name = absl::StrCat("index", suffix[0] == '-' ? suffix + 1 : "");
    absl::Status moved = cas_->quarantine_file(index_path() + suffix, name, now());
    if (!moved.ok() && !absl::IsNotFound(moved)) return moved;
  }
  return absl::OkStatus();
}

void KernelsCache::Impl::rebuild_index(std::uint64_t seen_generation) {
  std::unique_lock lock(index_mutex_);
  if (index_generation_ != seen_generation || handed_over_) return;  // another thread rebuilt it, or it is not ours
  bool was_open = index_ != nullptr;
  index_.reset();
  if (was_open) {
    warn(absl::StrCat("the cache index is damaged; it was moved to ", options_.dir,
                      "/quarantine and the cache starts empty"));
    if (absl::Status aside = set_index_aside(); !aside.ok()) return;
  }
  absl::Status opened = open_or_create_index(/*starting=*/false);
  if (absl::IsDataLoss(opened) && set_index_aside().ok()) opened = open_or_create_index(/*starting=*/false);
  if (!opened.ok()) note_write(opened).IgnoreError();
}

}  // namespace hearth::cache
