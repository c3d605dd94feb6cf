#include "daemon/remote/result_fetch.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace hearth::daemon {
namespace {

RemoteOutcome outcome_of(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status) || absl::IsCancelled(status)) return RemoteOutcome::kLate;
  return RemoteOutcome::kError;
}

class Fetch : public ResultFetch, public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(RemoteEndpoint& endpoint, const EntryKey& entry, std::uint64_t most_bytes, std::uint64_t batch_bytes,
        std::shared_ptr<const TrustedKeys> trusted, std::function<void(RemoteAnswer)> done)
      : endpoint_(endpoint),
        entry_(entry),
        most_bytes_(most_bytes),
        batch_bytes_(batch_bytes),
        trusted_(std::move(trusted)),
        done_(std::move(done)) {}

  void begin() {
    const EntryAddress address = address_of(entry_);
    send([&] {
      return endpoint_.get_result(BlobReference::of(address.action),
                                  [self = shared_from_this()](absl::StatusOr<std::vector<ListedFile>> files) {
                                    self->listed(std::move(files));
                                  });
    });
  }

  void cancel() override {
    std::shared_ptr<RemoteCall> call;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      call = std::move(call_);
    }
    if (call) call->cancel();
  }

 private:
  // One call follows another. What `begin` gives may have been answered, and followed by the next, when it returns.
  template <class Begin>
  void send(const Begin& begin) {
    std::uint64_t step = 0;
    {
      const std::lock_guard lock(mutex_);
      step = ++step_;
      if (is_cancelled_) step = 0;
    }
    if (step == 0) return end(RemoteOutcome::kLate, absl::CancelledError("cancelled"));
    std::shared_ptr<RemoteCall> call = begin();
    {
      const std::lock_guard lock(mutex_);
      if (step_ != step) return;
      if (!is_cancelled_) {
        call_ = std::move(call);
        return;
      }
    }
    if (call) call->cancel();
  }

  void end(RemoteOutcome outcome, absl::Status status) { done_({outcome, std::move(status), {}}); }

  void listed(absl::StatusOr<std::vector<ListedFile>> files) {
    if (absl::IsNotFound(files.status())) return end(RemoteOutcome::kMiss, files.status());
    if (!files.ok()) return end(outcome_of(files.status()), files.status());
    listed_ = *std::move(files);
    std::uint64_t left = most_bytes_;
    const ListedFile* statement = nullptr;
    for (const ListedFile& file : listed_) {
      if (file.path == kStatementPath) statement = &file;
      if (file.blob.size > left) {
        return end(RemoteOutcome::kError,
                   absl::ResourceExhaustedError(str_cat(endpoint_.address().text, ": a result of more than ",
                                                        most_bytes_, " bytes, which none of this kind has")));
      }
      left -= file.blob.size;
    }
    if (statement == nullptr || statement->blob.size > kMaxStatementBytes)
      return end(RemoteOutcome::kUnsigned, unsigned_status("it has no statement (hearth.sig)"));
    // The statement and what fits beside it come first.
    wanted_.push_back(statement->blob);
    std::uint64_t batch = statement->blob.size;
    for (const ListedFile& file : listed_) {
      if (std::ranges::find(wanted_, file.blob) != wanted_.end()) continue;
      if (file.blob.size > batch_bytes_ - std::min(batch, batch_bytes_)) {
        later_.push_back(file.blob);
        continue;
      }
      batch += file.blob.size;
      wanted_.push_back(file.blob);
    }
    read_batch();
  }

  void read_batch() {
    const auto then = [self = shared_from_this()](absl::StatusOr<std::vector<std::string>> blobs) {
      if (!blobs.ok()) return self->not_read(blobs.status());
      for (std::size_t i = 0; i < blobs->size(); ++i) self->read_.emplace(self->wanted_[i], std::move((*blobs)[i]));
      self->verify();
    };
    send([&] { return endpoint_.read_blobs(wanted_, then); });
  }

  void not_read(const absl::Status& status) {
    end(absl::IsNotFound(status) ? RemoteOutcome::kIncomplete : outcome_of(status), status);
  }

  absl::Status unsigned_status(std::string_view why) const {
    return absl::PermissionDeniedError(str_cat(endpoint_.address().text, ": a result is not loaded: ", why));
  }

  void verify() {
    if (!is_verified_) {
      const auto statement = std::ranges::find(listed_, std::string(kStatementPath), &ListedFile::path);
      const absl::StatusOr<ResultStatement> stated = verified_statement(read_.at(statement->blob), *trusted_);
      if (!stated.ok()) return end(RemoteOutcome::kUnsigned, unsigned_status(std::string(stated.status().message())));
      if (absl::Status status = check_statement(*stated, entry_, listed_); !status.ok())
        return end(RemoteOutcome::kUnsigned, unsigned_status(std::string(status.message())));
      is_verified_ = true;
    }
    if (!later_.empty()) return read_later();
    RemoteAnswer answer{RemoteOutcome::kHit, absl::OkStatus(), {}};
    for (const ListedFile& file : listed_) {
      if (file.path != kStatementPath) answer.files.push_back({file.path, read_.at(file.blob)});
    }
    done_(std::move(answer));
  }

  // What did not fit into the first batch, one after the other.
  void read_later() {
    const BlobReference blob = later_.back();
    later_.pop_back();
    const auto then = [self = shared_from_this(), blob](absl::StatusOr<std::string> bytes) {
      if (!bytes.ok()) return self->not_read(bytes.status());
      self->read_.emplace(blob, *std::move(bytes));
      self->verify();
    };
    if (blob.size > batch_bytes_) return send([&] { return endpoint_.read_large_blob(blob, then); });
    const auto then_one = [then](absl::StatusOr<std::vector<std::string>> blobs) {
      if (!blobs.ok()) return then(blobs.status());
      then(std::move(blobs->front()));
    };
    send([&] { return endpoint_.read_blobs({blob}, then_one); });
  }

  RemoteEndpoint& endpoint_;
  const EntryKey entry_;
  const std::uint64_t most_bytes_, batch_bytes_;
  const std::shared_ptr<const TrustedKeys> trusted_;
  const std::function<void(RemoteAnswer)> done_;
  // One step at a time touches these.
  std::vector<ListedFile> listed_;
  std::vector<BlobReference> wanted_, later_;
  std::map<BlobReference, std::string> read_;
  bool is_verified_ = false;
  std::mutex mutex_;
  std::shared_ptr<RemoteCall> call_;  // of step_
  std::uint64_t step_ = 0;            // the last call begun
  bool is_cancelled_ = false;
};

}  // namespace

std::string* RemoteAnswer::file(std::string_view path) {
  const auto place = std::ranges::find(files, path, &RemoteFile::path);
  return place == files.end() ? nullptr : &place->bytes;
}

std::shared_ptr<ResultFetch> fetch_result(RemoteEndpoint& endpoint, const EntryKey& entry, std::uint64_t most_bytes,
                                          std::uint64_t batch_bytes, std::shared_ptr<const TrustedKeys> trusted,
                                          std::function<void(RemoteAnswer)> done) {
  auto fetch = std::make_shared<Fetch>(endpoint, entry, most_bytes, batch_bytes, std::move(trusted), std::move(done));
  fetch->begin();
  return fetch;
}

absl::Status check_statement(const ResultStatement& statement, const EntryKey& entry,
                             const std::vector<ListedFile>& files) {
  const auto other = [](std::string_view what) {
    return absl::PermissionDeniedError(str_cat("its statement is of another ", what));
  };
  if (statement.domain != entry.domain || statement.key != entry.key) return other("key");
  if (statement.kind != entry.kind) return other("kind");
  if (statement.salt != entry.salt) return other("salt (remote_salt)");
  if (statement.build_id != entry.build_id) return other("build of Hearth");
  if (statement.flavour != entry.flavour) return other("flavour of the compiler");
  std::map<std::string, BlobReference> stated, listed;
  for (const StatedFile& file : statement.files) stated[file.path] = {file.digest, file.size};
  for (const ListedFile& file : files) {
    if (file.path != kStatementPath) listed[file.path] = file.blob;
  }
  const bool are_distinct = stated.size() == statement.files.size() && listed.size() + 1 == files.size();
  if (!are_distinct || stated != listed) return other("set of files");
  return absl::OkStatus();
}

}  // namespace hearth::daemon
