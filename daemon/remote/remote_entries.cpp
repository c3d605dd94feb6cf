#include "daemon/remote/remote_entries.h"

#include <mutex>

namespace hearth::daemon {
namespace {

// A look-up that begins once the flavour is known.
class Deferred : public ResultFetch, public std::enable_shared_from_this<Deferred> {
 public:
  explicit Deferred(std::function<void(RemoteAnswer)> done) : done_(std::move(done)) {}

  void cancel() override {
    std::shared_ptr<ResultFetch> fetch;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      fetch = std::move(fetch_);
    }
    if (fetch) fetch->cancel();
    end({RemoteOutcome::kLate, absl::CancelledError("cancelled"), {}});
  }
  bool is_sent() override {
    const std::lock_guard lock(mutex_);
    return is_sent_;
  }
  bool is_cancelled() {
    const std::lock_guard lock(mutex_);
    return is_cancelled_;
  }
  void begun(std::shared_ptr<ResultFetch> fetch) {
    {
      const std::lock_guard lock(mutex_);
      is_sent_ = true;
      if (!is_cancelled_) {
        fetch_ = std::move(fetch);
        return;
      }
    }
    if (fetch) fetch->cancel();
  }
  // The first end counts.
  void end(RemoteAnswer answer) {
    std::function<void(RemoteAnswer)> done;
    std::shared_ptr<ResultFetch> fetch;
    {
      const std::lock_guard lock(mutex_);
      done.swap(done_);
      fetch.swap(fetch_);
    }
    if (done) done(std::move(answer));
  }

 private:
  std::mutex mutex_;
  std::function<void(RemoteAnswer)> done_;
  std::shared_ptr<ResultFetch> fetch_;
  bool is_cancelled_ = false;
  bool is_sent_ = false;
};

}  // namespace

EntryKey RemoteEntries::key_of(const cache::KeyMaterial& material, const char* kind, const Digest& flavour) const {
  return {material.domain(), cache::key(material), kind, remote_->settings().salt, flavour, build_id_};
}

std::shared_ptr<ResultFetch> RemoteEntries::find(const cache::KeyMaterial& material, const char* kind,
                                                 std::uint64_t most_bytes, std::function<void(RemoteAnswer)> done) {
  auto deferred = std::make_shared<Deferred>(std::move(done));
  flavour_->when_known([this, deferred, material, kind, most_bytes](const std::optional<Digest>& flavour) {
    if (!flavour)
      return deferred->end({RemoteOutcome::kError, absl::FailedPreconditionError("the compiler's files changed"), {}});
    if (deferred->is_cancelled()) return;
    deferred->begun(remote_->fetch(key_of(material, kind, *flavour), most_bytes,
                                   [deferred](RemoteAnswer answer) { deferred->end(std::move(answer)); }));
  });
  return deferred;
}

void RemoteEntries::lease(const cache::KeyMaterial& material, const char* kind, CompileLeases::Waiter waiter) {
  auto shared = std::make_shared<CompileLeases::Waiter>(std::move(waiter));
  flavour_->when_known([this, material, kind, shared](const std::optional<Digest>& flavour) {
    if (!flavour) return shared->ended(true);
    remote_->lease(key_of(material, kind, *flavour), std::move(*shared));
  });
}

void RemoteEntries::send(const cache::KeyMaterial& material, const char* kind, std::vector<RemoteFile> files) {
  auto shared = std::make_shared<std::vector<RemoteFile>>(std::move(files));
  flavour_->when_known([this, material, kind, shared](const std::optional<Digest>& flavour) {
    if (flavour) remote_->publish(key_of(material, kind, *flavour), std::move(*shared));
  });
}

}  // namespace hearth::daemon
