#include "daemon/remote/compiler_flavour.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/elf_build_id.h"
#include "base/file_digest/file_digest.h"

namespace hearth::daemon {
namespace {

bool is_worker(const std::string& path, const std::string& worker) {
  std::error_code error;
  return path == worker || std::filesystem::equivalent(path, worker, error);
}

}  // namespace

Digest CompilerFlavour::of(std::vector<std::string> identities) {
  std::ranges::sort(identities);
  std::string all = "hearth.flavour.v1";
  for (const std::string& identity : identities) all += to_bytes(sha256(identity));
  return sha256(all);
}

void CompilerFlavour::mapped(const std::vector<std::string>& files) {
  Stamped stamped;
  for (const std::string& file : files) stamped.emplace_back(file, files::stamp_of_file(file));
  bool was_known = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_none_ || (files_ && *files_ == stamped)) return;
    was_known = files_.has_value();
    files_ = stamped;
  }
  if (was_known || stamped.empty()) {
    spdlog::warn(was_known ? "the compiler's libraries were replaced: the remote cache is asked again after a restart"
                           : "the remote cache is not asked: /proc does not tell what the compiler is made of");
    return give_up();
  }
  post_([this, stamped] { read(stamped); });
}

void CompilerFlavour::give_up() {
  std::vector<Then> waiting;
  {
    const std::lock_guard lock(mutex_);
    is_none_ = true;
    flavour_.reset();
    waiting.swap(waiting_);
  }
  for (const Then& then : waiting) then(std::nullopt);
}

void CompilerFlavour::read(const Stamped& files) {
  std::vector<std::string> identities;
  for (const auto& [path, stamp] : files) {
    const std::string id = is_worker(path, worker_) ? "" : elf_build_id(path);
    if (!id.empty()) {
      identities.push_back("id " + id);
      continue;
    }
    const absl::StatusOr<files::FileDigest> file = files::file_digest(path);
    if (!file.ok() || file->stamp != stamp) {
      spdlog::warn("the remote cache is not asked: a file of the compiler cannot be read: {}",
                   std::string(file.status().message()));
      return give_up();
    }
    identities.push_back("content " + to_bytes(file->digest));
  }
  const Digest flavour = of(std::move(identities));
  std::vector<Then> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (is_none_) return;
    flavour_ = flavour;
    waiting.swap(waiting_);
  }
  for (const Then& then : waiting) then(flavour);
}

void CompilerFlavour::when_known(Then then) {
  std::optional<Digest> known;
  {
    const std::lock_guard lock(mutex_);
    known = flavour_;
    if (!known && !is_none_) return waiting_.push_back(std::move(then));
  }
  then(known);
}

}  // namespace hearth::daemon
