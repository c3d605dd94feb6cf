#include "kernels_cache/kernels_cache.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "kernels_cache/cache_folder.h"
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {
namespace {

constexpr const char* kRemedy = "; choose another cache directory or fix this one";

absl::Status with_remedy(const absl::Status& status, const std::string& dir) {
  return absl::Status(status.code(), absl::StrCat("cache directory ", dir, ": ", status.message(), kRemedy));
}

std::vector<Digest> digests_of(const std::vector<ArtifactRef>& blobs) {
  std::vector<Digest> digests;
  for (const ArtifactRef& blob : blobs) digests.push_back(blob.digest);
  return digests;
}

}  // namespace

KernelsCache::KernelsCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelsCache::~KernelsCache() = default;

absl::StatusOr<std::unique_ptr<KernelsCache>> KernelsCache::open(Options options) {
  if (options.dir.empty()) return absl::InvalidArgumentError("cache directory: no path given");
  std::error_code error;
  options.dir = std::filesystem::absolute(options.dir, error).lexically_normal().string();
  while (options.dir.size() > 1 && options.dir.back() == '/') options.dir.pop_back();
  FileSystem& file_system = options.file_system ? *options.file_system : posix_file_system();
  const absl::Status usable = make_cache_folder(file_system, options.dir, options.allow_network_fs);
  if (!usable.ok()) return with_remedy(usable, options.dir);
  // Where this user's own links lead: the index is opened through none.
  if (const std::filesystem::path real = std::filesystem::canonical(options.dir, error); !error)
    options.dir = real.string();
  absl::StatusOr<DirectoryLock> lock = DirectoryLock::acquire(options.dir, options.lock_patience);
  if (absl::IsFailedPrecondition(lock.status())) return lock.status();
  if (!lock.ok()) return with_remedy(lock.status(), options.dir);
  if (!options.below.empty()) {
    const absl::Status laid = lay_over(file_system, options.below, options.dir);
    if (!laid.ok()) return with_remedy(laid, options.below);
  }
  absl::StatusOr<std::unique_ptr<CasStore>> cas = CasStore::open(file_system, options.dir, options.below);
  if (!cas.ok()) return with_remedy(cas.status(), options.dir);
  std::string dir = options.dir;
  auto impl = std::make_unique<Impl>(std::move(options), file_system, *std::move(lock), *std::move(cas));
  if (absl::Status opened = impl->open_index(); !opened.ok()) return with_remedy(opened, dir);
  return std::unique_ptr<KernelsCache>(new KernelsCache(std::move(impl)));
}

KernelsCache::Impl::Impl(Options options, FileSystem& file_system, DirectoryLock lock, std::unique_ptr<CasStore> cas)
    : options_(std::move(options)),
      file_system_(file_system),
      lock_(std::move(lock)),
      cas_(std::move(cas)),
      recent_plans_(options_.recent_plan_bytes) {}

KernelsCache::Impl::~Impl() { flush(); }

KernelsCache::Impl::KeyedMaterial KernelsCache::Impl::keyed(const KeyMaterial& material) const {
  KeyedMaterial result;
  result.bytes = material.encode();
  result.key = options_.key_function ? options_.key_function(material) : sha256(result.bytes);
  return result;
}

std::int64_t KernelsCache::Impl::now() {
  using namespace std::chrono;
  std::int64_t time = options_.now_unix_ns ? options_.now_unix_ns()
                                           : duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  std::int64_t last = last_now_ns_.load();
  while (!last_now_ns_.compare_exchange_weak(last, std::max(last + 1, time))) {
  }
  return std::max(last + 1, time);
}

void KernelsCache::Impl::warn(const std::string& text) const {
  if (options_.on_warning) return options_.on_warning(text);
  std::cerr << absl::StrCat("warning: ", printable(text), "\n");
}

void KernelsCache::Impl::warn_of_overlay() const {
  if (options_.below.empty()) return;
  warn(absl::StrCat("cache directory ", options_.below,
                    " cannot be written: what is in it is served, what is new goes to ", options_.dir));
}

// ---- finds -------------------------------------------------------------------------------------------------------

std::optional<ActionRow> KernelsCache::Impl::find_row(const KeyedMaterial& wanted, EntryKind kind) {
  auto row = with_index([&](ActionCache& index) { return index.find(wanted.key); });
  if (!row.ok() || !row->has_value()) return std::nullopt;
  ActionRow& found = **row;
  if (found.damaged || found.kind != kind || found.material != wanted.bytes || found.blobs.empty()) return std::nullopt;
  return std::move(found);
}

bool KernelsCache::Impl::known_sound(const Digest& digest) {
  const absl::StatusOr<FileId> id = cas_->identify(digest);
  std::lock_guard lock(verified_mutex_);
  const auto known = verified_.find(digest);
  return id.ok() && known != verified_.end() && known->second == *id;
}

absl::Status KernelsCache::Impl::check(const Digest& digest) {
  if (known_sound(digest)) return absl::OkStatus();
  const absl::StatusOr<FileId> id = cas_->identify(digest);
  if (absl::IsNotFound(id.status())) {
    drop_missing(digest);
    return absl::NotFoundError(absl::StrCat("artifact ", to_hex(digest), " is not in the cache"));
  }
  const absl::StatusOr<std::string> bytes = cas_->read(digest);
  if (bytes.ok() && id.ok()) {
    std::lock_guard lock(verified_mutex_);
    verified_[digest] = *id;
    return absl::OkStatus();
  }
  if (absl::IsDataLoss(bytes.status()) || absl::IsFailedPrecondition(bytes.status())) quarantine(digest);
  return bytes.ok() ? id.status() : bytes.status();
}

void KernelsCache::Impl::remember(const Digest& digest) {
  absl::StatusOr<FileId> id = cas_->identify(digest);
  if (!id.ok()) return;
  std::lock_guard lock(verified_mutex_);
  verified_[digest] = *id;
}

void KernelsCache::Impl::forget(const Digest& digest) {
  std::lock_guard lock(verified_mutex_);
  verified_.erase(digest);
}

std::optional<ArtifactEntry> KernelsCache::Impl::find_artifact(const KeyMaterial& material, EntryKind kind) {
  std::optional<ActionRow> row = find_row(keyed(material), kind);
  if (!row) return std::nullopt;
  std::optional<Pin> pin = pin_sound(*row);
  if (!pin) return std::nullopt;
  touch(*row);
  return ArtifactEntry{row->blobs[0].digest, row->blobs[0].size_bytes, *std::move(pin)};
}

bool KernelsCache::Impl::is_ownerless(const KeyMaterial& material, const Digest& artifact) {
  const KeyedMaterial wanted = keyed(material);
  for (const EntryKind kind : {EntryKind::kKernel, EntryKind::kBlob}) {
    std::optional<ActionRow> row = find_row(wanted, kind);
    if (!row) continue;
    std::vector<ActionRow> rows{*std::move(row)};
    const absl::Status described = with_index([&](ActionCache& index) { return index.describe(rows); });
    return described.ok() && rows[0].owner == kNoOwner && rows[0].blobs[0].digest == artifact;
  }
  return false;
}

std::optional<PlanEntry> KernelsCache::Impl::find_plan(const KeyMaterial& material) {
  const KeyedMaterial wanted = keyed(material);
  if (std::shared_ptr<const RecentPlans::Entry> recent = recent_plans_.find(wanted.key, wanted.bytes)) {
    if (std::optional<Pin> pin = pin_sound(recent->row)) return found_plan(*recent, *std::move(pin));
    recent_plans_.forget(wanted.key);
  }
  const std::uint64_t generation = recent_plans_.generation();
  std::optional<ActionRow> row = find_row(wanted, EntryKind::kPlan);
  if (!row) return std::nullopt;
  std::optional<Pin> pin = pin_sound(*row);
  if (!pin) return std::nullopt;
  absl::StatusOr<std::string> plan = cas_->read(row->blobs[0].digest);
  if (!plan.ok()) return std::nullopt;
  RecentPlans::Entry entry{*std::move(row), std::make_shared<const std::string>(*std::move(plan))};
  recent_plans_.add(entry, generation);
  return found_plan(entry, *std::move(pin));
}

std::optional<PlanEntry> KernelsCache::Impl::find_recent_plan(const KeyMaterial& material) {
  const KeyedMaterial wanted = keyed(material);
  const std::shared_ptr<const RecentPlans::Entry> recent = recent_plans_.find(wanted.key, wanted.bytes);
  if (!recent || handed_over_) return std::nullopt;
  std::optional<Pin> pin = PinTable::pin(pins_, digests_of(recent->row.blobs));
  for (const ArtifactRef& blob : recent->row.blobs) {
    if (pin && !known_sound(blob.digest)) pin.reset();
  }
  if (!pin) return std::nullopt;
  return found_plan(*recent, *std::move(pin));
}

std::optional<Pin> KernelsCache::Impl::pin_sound(const ActionRow& row) {
  std::optional<Pin> pin = PinTable::pin(pins_, digests_of(row.blobs));
  for (const ArtifactRef& blob : row.blobs) {
    if (pin && !sound(blob.digest)) pin.reset();
  }
  return pin;
}

PlanEntry KernelsCache::Impl::found_plan(const RecentPlans::Entry& entry, Pin pin) {
  touch(entry.row);
  return {entry.plan, {entry.row.blobs.begin() + 1, entry.row.blobs.end()}, std::move(pin)};
}

void KernelsCache::Impl::touch(const ActionRow& row) {
  std::shared_lock lock(index_mutex_);
  if (index_) index_->touch(row, now());
}

// ---- puts --------------------------------------------------------------------------------------------------------

ActionRow KernelsCache::Impl::new_row(EntryKind kind, const KeyMaterial& material, std::string_view bytes) const {
  KeyedMaterial keyed_material = keyed(material);
  ActionRow row;
  row.key = keyed_material.key;
  row.kind = kind;
  row.material = std::move(keyed_material.bytes);
  row.blobs = {{sha256(bytes), bytes.size()}};
  return row;
}

absl::StatusOr<ArtifactEntry> KernelsCache::Impl::put_artifact(const KeyMaterial& material, EntryKind kind,
                                                               std::string_view artifact, EntryOwner owner) {
  ActionRow row = new_row(kind, material, artifact);
  row.owner = owner;
  ArtifactEntry entry{row.blobs[0].digest, artifact.size(), {}};
  HEARTH_ASSIGN_OR_RETURN(Pin pin, publish(std::move(row), artifact));
  entry.pin = std::move(pin);
  return entry;
}

absl::StatusOr<Pin> KernelsCache::Impl::put_plan(const KeyMaterial& material, std::string_view plan,
                                                 std::span<const Digest> digests, EntryOwner owner, std::string model) {
  ActionRow row = new_row(EntryKind::kPlan, material, plan);
  row.owner = owner;
  row.model = std::move(model);
  for (const Digest& digest : digests) {
    absl::StatusOr<FileId> id = cas_->identify(digest);
    if (!id.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("plan not stored: its artifact ", to_hex(digest), " is not in the cache"));
    }
    row.blobs.push_back({digest, id->size_bytes});
  }
  RecentPlans::Entry entry{row, std::make_shared<const std::string>(plan)};
  const std::uint64_t before = recent_plans_.generation();
  absl::StatusOr<Pin> stored = publish(std::move(row), plan);
  const std::uint64_t after = recent_plans_.forget(entry.row.key);
  // Unless another plan was stored meanwhile, perhaps under this key: then the index says which is the newer one.
  if (stored.ok() && after == before + 1) recent_plans_.add(std::move(entry), after);
  return stored;
}

absl::StatusOr<Pin> KernelsCache::Impl::publish(ActionRow row, std::string_view fresh_bytes) {
  std::shared_lock owner(owner_mutex_);
  HEARTH_RETURN_IF_ERROR(check_owned());
  row.created_unix_ns = row.last_used_unix_ns = now();
  const Digest fresh = row.blobs[0].digest;
  if (absl::IsNotFound(cas_->identify(fresh).status()) || !sound(fresh)) {
    absl::StatusOr<std::string> intent = cas_->begin_intent(fresh);
    if (!intent.ok()) return note_write(intent.status());
    absl::Status written = cas_->write(fresh, fresh_bytes);
    absl::StatusOr<Pin> pin = written.ok() ? commit(row, fresh_bytes) : written;
    if (!pin.ok()) abandon(fresh);
    cas_->end_intent(*intent);
    return pin.ok() ? std::move(pin) : note_write(pin.status());
  }
  absl::StatusOr<Pin> pin = commit(row, fresh_bytes);
  return pin.ok() ? std::move(pin) : note_write(pin.status());
}

absl::StatusOr<Pin> KernelsCache::Impl::commit(const ActionRow& row, std::string_view fresh_bytes) {
  std::lock_guard lock(write_mutex_);
  if (sweep_wanted_.exchange(false)) sweep_orphans_locked();
  // Nothing is condemned while we hold write_mutex_, so this pin cannot fail, and no file can vanish after it.
  std::optional<Pin> pin = PinTable::pin(pins_, digests_of(row.blobs));
  if (!pin) return absl::UnavailableError("an entry of the cache is being evicted; try again");
  for (std::size_t i = 0; i < row.blobs.size(); ++i) {
    const Digest& digest = row.blobs[i].digest;
    if (cas_->identify(digest).ok()) continue;
    if (i > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("plan not stored: its artifact ", to_hex(digest), " is not in the cache"));
    }
    HEARTH_RETURN_IF_ERROR(cas_->write(digest, fresh_bytes));
  }
  remember(row.blobs[0].digest);
  absl::Status stored = with_index([&](ActionCache& index) { return index.put(row); });
  if (!stored.ok()) return stored;
  note_write(absl::OkStatus()).IgnoreError();
  evict_locked();
  return *std::move(pin);
}

// A put failed: the file must not stay unless another entry has it.
void KernelsCache::Impl::abandon(const Digest& digest) {
  std::lock_guard lock(write_mutex_);
  auto known = with_index([&](ActionCache& index) { return index.contains_blob(digest); });
  if (known.ok() && !*known && pins_->begin_eviction(digest)) {
    cas_->remove(digest).IgnoreError();
    forget(digest);
    pins_->cancel_eviction(digest);
  }
}

// ---- the facade --------------------------------------------------------------------------------------------------

std::optional<ArtifactEntry> KernelsCache::find_kernel(const KeyMaterial& m) {
  return impl_->find_artifact(m, EntryKind::kKernel);
}
bool KernelsCache::is_ownerless(const KeyMaterial& material, const Digest& artifact) {
  return impl_->is_ownerless(material, artifact);
}
std::optional<PlanEntry> KernelsCache::find_plan(const KeyMaterial& m) { return impl_->find_plan(m); }
std::optional<PlanEntry> KernelsCache::find_recent_plan(const KeyMaterial& m) { return impl_->find_recent_plan(m); }
absl::StatusOr<ArtifactEntry> KernelsCache::put_kernel(const KeyMaterial& material, std::string_view artifact,
                                                       EntryOwner owner) {
  return impl_->put_artifact(material, EntryKind::kKernel, artifact, owner);
}
absl::StatusOr<Pin> KernelsCache::put_plan(const KeyMaterial& material, std::string_view plan,
                                           std::span<const Digest> digests, EntryOwner owner, std::string model) {
  return impl_->put_plan(material, plan, digests, owner, std::move(model));
}
std::string KernelsCache::artifact_path(const Digest& digest) const { return impl_->cas().path_of(digest); }
std::optional<Pin> KernelsCache::pin(std::span<const Digest> digests) { return PinTable::pin(impl_->pins(), digests); }
std::vector<CacheEntryInfo> KernelsCache::list(std::size_t limit, std::string_view model) {
  return impl_->list(limit, model);
}
ClearReport KernelsCache::remove_model(std::string_view model) { return impl_->remove_model(model); }
VerifyReport KernelsCache::verify() { return impl_->verify(); }
ClearReport KernelsCache::clear(bool keep_tuning) { return impl_->clear(keep_tuning); }
CacheStats KernelsCache::stats() const { return impl_->stats(); }
CacheHealth KernelsCache::health() { return impl_->health(); }
std::optional<MissExplanation> KernelsCache::explain_miss(const KeyMaterial& m) { return impl_->explain_miss(m); }
void KernelsCache::flush() { impl_->flush(); }
void KernelsCache::begin_leaving() { impl_->begin_leaving(); }
bool KernelsCache::hand_over_if_wanted() { return impl_->hand_over_if_wanted(); }
void KernelsCache::hand_over() { impl_->hand_over(); }

}  // namespace hearth::cache
