#include "daemon/remote/upload_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hearth::daemon {
namespace {

bool is_taken_by(const RemoteServer& server) { return server.is_asked() && server.abilities().takes_results; }

}  // namespace

std::uint64_t Upload::bytes() const {
  std::uint64_t bytes = address.command.size() + address.action.size();
  for (const RemoteFile& file : files) bytes += file.bytes.size();
  return bytes;
}

// One upload under way; its steps follow one another.
class UploadQueue::Sending : public std::enable_shared_from_this<Sending> {
 public:
  Sending(UploadQueue* queue, RemoteServer* server, Upload upload)
      : queue_(*queue), server_(*server), action_(BlobReference::of(upload.address.action)) {
    const std::uint64_t most = server->abilities().batch_bytes;
    std::vector<std::string> blobs{"", std::move(upload.address.command), std::move(upload.address.action)};
    for (RemoteFile& file : upload.files) {
      listed_.push_back({file.path, BlobReference::of(file.bytes)});
      blobs.push_back(std::move(file.bytes));
    }
    std::uint64_t batch = most;
    for (std::string& bytes : blobs) {
      if (bytes.size() > most) {
        large_.push_back(std::make_shared<const std::string>(std::move(bytes)));
        continue;
      }
      if (batches_.empty() || bytes.size() > most - batch) {
        batches_.emplace_back();
        batch = 0;
      }
      batch += bytes.size();
      batches_.back().push_back(std::move(bytes));
    }
  }

  void step(const absl::Status& status) {
    if (!status.ok()) return queue_.ended(status, &server_);
    const auto then = [self = shared_from_this()](const absl::Status& status) { self->step(status); };
    if (!batches_.empty()) {
      const std::vector<std::string> batch = std::move(batches_.back());
      batches_.pop_back();
      server_.endpoint().write_blobs(batch, then);
    } else if (!large_.empty()) {
      const std::shared_ptr<const std::string> bytes = std::move(large_.back());
      large_.pop_back();
      server_.endpoint().write_large_blob(bytes, then);
    } else {
      server_.endpoint().put_result(action_, listed_, [self = shared_from_this()](const absl::Status& status) {
        self->queue_.ended(status, &self->server_);
      });
    }
  }

 private:
  UploadQueue& queue_;
  RemoteServer& server_;
  const BlobReference action_;
  std::vector<ListedFile> listed_;
  std::vector<std::vector<std::string>> batches_;
  std::vector<std::shared_ptr<const std::string>> large_;
};

void UploadQueue::add(RemoteServer* server, Upload upload) {
  if (server != nullptr && !server->abilities().takes_results && problem().ok()) {
    tell(absl::PermissionDeniedError(str_cat(server->address().text, ": the server takes no results of this node")));
  }
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t bytes = upload.bytes();
    const bool fits = waiting_.empty() || (waiting_.size() < kMaxEntries && waiting_bytes_ + bytes <= kMaxBytes);
    if (has_ended_ || server == nullptr || !is_taken_by(*server) || !fits) {
      ++counters_.dropped;
      return;
    }
    waiting_bytes_ += bytes;
    waiting_.emplace_back(server, std::move(upload));
  }
  begin_next();
}

void UploadQueue::begin_next() {
  std::shared_ptr<Sending> sending;
  {
    const std::lock_guard lock(mutex_);
    if (is_sending_ || has_ended_) return;
    while (!waiting_.empty() && !is_taken_by(*waiting_.front().first)) {
      waiting_bytes_ -= waiting_.front().second.bytes();
      waiting_.pop_front();
      ++counters_.dropped;
    }
    if (waiting_.empty()) return emptied_.notify_all();
    is_sending_ = true;
    auto [server, upload] = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= upload.bytes();
    sending = std::make_shared<Sending>(this, server, std::move(upload));
  }
  sending->step(absl::OkStatus());
}

void UploadQueue::ended(const absl::Status& status, RemoteServer* server) {
  {
    const std::lock_guard lock(mutex_);
    is_sending_ = false;
    status.ok() ? ++counters_.sent : ++counters_.failed;
  }
  tell(status);
  // A server that is only read is a good one otherwise: its breaker is not told of what it refuses to keep.
  if (absl::IsPermissionDenied(status) || absl::IsUnimplemented(status)) {
    server->stop_sending();
  } else if (!status.ok()) {
    server->note(status);
  }
  begin_next();
}

void UploadQueue::tell(const absl::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = problem_.code() != status.code();
    problem_ = status;
    if (status.ok() || !is_new || has_ended_) return;
  }
  spdlog::warn("the remote cache does not take results: {}; set no remote_writer_key where nodes may only read",
               std::string(status.message()));
}

bool UploadQueue::wait_until_empty(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, limit, [this] { return waiting_.empty() && !is_sending_; });
}

void UploadQueue::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  counters_.dropped += waiting_.size();
  waiting_.clear();
  waiting_bytes_ = 0;
}

absl::Status UploadQueue::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

UploadCounters UploadQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace hearth::daemon
