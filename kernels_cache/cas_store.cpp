#include "kernels_cache/cas_store.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace hearth::cache {
namespace {

std::optional<Digest> parse_hex_digest(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  Digest digest{};
  for (std::size_t i = 0; i < 64; ++i) {
    unsigned char c = static_cast<unsigned char>(hex[i]);
    unsigned value;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else {
      return std::nullopt;
    }
    digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] << 4 | value);
  }
  return digest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CasStore>> CasStore::open(FileSystem& file_system, std::string dir, std::string below) {
  std::unique_ptr<CasStore> store(new CasStore(file_system, std::move(dir), std::move(below)));
  HEARTH_RETURN_IF_ERROR(store->make_folders());
  HEARTH_RETURN_IF_ERROR(store->sweep_temps());
  return store;
}

std::string CasStore::shard_dir(unsigned shard) const { return absl::StrFormat("%s/cas/%02x", dir_, shard); }

std::string CasStore::own_path(const Digest& digest) const {
  return absl::StrCat(shard_dir(digest[0]), "/", to_hex(digest));
}

std::string CasStore::path_of(const Digest& digest) const {
  std::string own = own_path(digest);
  if (below_.empty() || !absl::IsNotFound(file_system_.identify(own).status())) return own;
  std::string read_only = absl::StrFormat("%s/cas/%02x/%s", below_, digest[0], to_hex(digest));
  return file_system_.identify(read_only).ok() ? read_only : own;
}

absl::Status CasStore::make_folders() {
  for (const char* name : {"cas", "tmp", "quarantine"}) {
    absl::Status made = file_system_.make_dir(absl::StrCat(dir_, "/", name), 0700);
    if (!made.ok()) return made;
  }
  HEARTH_RETURN_IF_ERROR(file_system_.sync_dir(dir_));
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::string> present, file_system_.list_dir(dir_ + "/cas"));
  // One fsync covers the shards of earlier processes; the others are made when a file needs them.
  HEARTH_RETURN_IF_ERROR(file_system_.sync_dir(dir_ + "/cas"));
  for (unsigned shard = 0; shard < kNumShards; ++shard) {
    shard_durable_[shard] = std::binary_search(present.begin(), present.end(), absl::StrFormat("%02x", shard));
  }
  return absl::OkStatus();
}

absl::Status CasStore::make_shard(unsigned shard) {
  if (shard_durable_[shard]) return absl::OkStatus();
  absl::Status status = file_system_.make_dir(shard_dir(shard), 0700);
  if (status.ok()) status = file_system_.sync_dir(dir_ + "/cas");
  if (status.ok()) shard_durable_[shard] = true;
  return status;
}

absl::Status CasStore::sweep_temps() {
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system_.list_dir(dir_ + "/tmp"));
  for (const std::string& name : names) {
    std::string path = absl::StrCat(dir_, "/tmp/", name);
    std::optional<Digest> digest = parse_hex_digest(std::string_view(name).substr(0, name.find('.')));
    if (digest && absl::EndsWith(name, ".intent")) {
      left_intents_.push_back({*digest, path});
      continue;
    }
    file_system_.remove_file(path).IgnoreError();  // a leftover is a nuisance, not a reason to refuse to start
  }
  return absl::OkStatus();
}

absl::Status CasStore::write_temp(const std::string& temp, std::string_view bytes) {
  HEARTH_ASSIGN_OR_RETURN(int fd, file_system_.create(temp, 0400));
  absl::Status status = file_system_.write_all(fd, bytes);
  if (status.ok()) status = file_system_.sync(fd);
  absl::Status closed = file_system_.close_file(fd);
  return status.ok() ? closed : status;
}

absl::Status CasStore::write(const Digest& digest, std::string_view bytes) {
  std::string temp = absl::StrCat(dir_, "/tmp/", to_hex(digest), ".", ++sequence_, ".tmp");
  std::string path = own_path(digest);
  absl::Status status = make_shard(digest[0]);
  if (status.ok()) status = write_temp(temp, bytes);
  if (status.ok()) status = file_system_.rename_file(temp, path);
  if (absl::IsNotFound(status)) {
    // Somebody removed the folder under us: make it anew.
    shard_durable_[digest[0]] = false;
    status = make_shard(digest[0]);
    if (status.ok()) status = file_system_.rename_file(temp, path);
  }
  if (!status.ok()) {
    file_system_.remove_file(temp).IgnoreError();
    return status;
  }
  status = file_system_.sync_dir(shard_dir(digest[0]));
  if (!status.ok()) file_system_.remove_file(path).IgnoreError();
  return status;
}

absl::StatusOr<std::string> CasStore::read(const Digest& digest) {
  absl::StatusOr<std::string> bytes = file_system_.read_file(path_of(digest));
  HEARTH_RETURN_IF_ERROR(bytes.status());
  if (sha256(*bytes) != digest) {
    return absl::DataLossError(absl::StrCat(path_of(digest), ": the bytes do not match the file's SHA-256 name"));
  }
  return bytes;
}

absl::Status CasStore::quarantine(const Digest& digest, std::int64_t now_unix_ns) {
  return quarantine_file(path_of(digest), to_hex(digest), now_unix_ns);
}

absl::Status CasStore::quarantine_file(const std::string& path, std::string_view name, std::int64_t now_unix_ns) {
  std::string folder = dir_ + "/quarantine";
  std::string to = absl::StrFormat("%s/%s-%020d-%d", folder, name, now_unix_ns, ++sequence_);
  absl::Status moved = file_system_.rename_file(path, to);
  if (!moved.ok()) return moved;
  absl::StatusOr<std::vector<std::string>> names = file_system_.list_dir(folder);
  if (!names.ok() || names->size() <= kMaxQuarantined) return absl::OkStatus();
  // Oldest first: the time stands between the first and the last '-' with leading zeros.
  auto time_of = [](const std::string& file) { return file.substr(std::min(file.find('-'), file.size())); };
  std::stable_sort(names->begin(), names->end(),
                   [&](const std::string& a, const std::string& b) { return time_of(a) < time_of(b); });
  for (std::size_t i = 0; i + kMaxQuarantined < names->size(); ++i) {
    file_system_.remove_file(absl::StrCat(folder, "/", (*names)[i])).IgnoreError();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CasStore::begin_intent(const Digest& digest) {
  std::string marker = absl::StrCat(dir_, "/tmp/", to_hex(digest), ".", ++sequence_, ".intent");
  HEARTH_ASSIGN_OR_RETURN(int fd, file_system_.create(marker, 0600));
  absl::Status closed = file_system_.close_file(fd);
  if (closed.ok()) return marker;
  end_intent(marker);
  return closed;
}

void CasStore::end_intent(const std::string& marker) { file_system_.remove_file(marker).IgnoreError(); }

absl::StatusOr<std::vector<Digest>> CasStore::list_shard(unsigned shard) {
  absl::StatusOr<std::vector<std::string>> names = file_system_.list_dir(shard_dir(shard));
  if (absl::IsNotFound(names.status())) return std::vector<Digest>();
  HEARTH_RETURN_IF_ERROR(names.status());
  std::vector<Digest> digests;
  for (const std::string& name : *names) {
    if (std::optional<Digest> digest = parse_hex_digest(name)) digests.push_back(*digest);
  }
  return digests;
}

void CasStore::remove_all() {
  for (unsigned shard = 0; shard < kNumShards; ++shard) {
    absl::StatusOr<std::vector<Digest>> digests = list_shard(shard);
    if (!digests.ok()) continue;
    for (const Digest& digest : *digests) remove(digest).IgnoreError();
  }
}

absl::Status CasStore::probe() {
  std::string temp = absl::StrCat(dir_, "/tmp/probe.", ++sequence_, ".tmp");
  absl::Status status = write_temp(temp, std::string(64 * 1024, '\0'));
  absl::Status removed = file_system_.remove_file(temp);
  return status.ok() ? removed : status;
}

}  // namespace hearth::cache
