#include "daemon/blobs/blob_toolchains.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace hearth::daemon {

BlobToolchains::Flights::Ticket BlobToolchains::find(const std::string& kind, const ClientId& client,
                                                     std::function<void(const Outcome&)> done) {
  std::shared_ptr<const v1::ToolchainInfo> info;
  {
    std::lock_guard lock(mutex_);
    const auto known = known_.find(kind);
    if (known != known_.end() && files::stamp_of(known->second.info->compiler()) == known->second.stamp) {
      info = known->second.info;
    }
  }
  if (info) {
    done(info);
    return {};
  }
  Flights::Waiter waiter;
  waiter.done = [done = std::move(done)](const Outcome& outcome, bool) { done(outcome); };
  waiter.client = client;
  waiter.again = [this, kind, client](std::shared_ptr<Flights::Flight> flight) {
    ask(kind, client, std::move(flight));
  };
  return flights_.join(sha256("toolchain " + kind), std::move(waiter),
                       [&](std::shared_ptr<Flights::Flight> flight) { ask(kind, client, std::move(flight)); });
}

void BlobToolchains::ask(const std::string& kind, const ClientId& client, std::shared_ptr<Flights::Flight> flight) {
  CompileJob job;
  job.client = client;
  job.request.mutable_toolchain()->set_kind(kind);
  job.what = absl::StrCat("the question for a compiler of '", kind, "' blobs");
  job.done = [this, kind, flight](absl::StatusOr<v1::WorkerReply> reply) {
    if (!reply.ok()) return flight->complete(reply.status());
    auto info = std::make_shared<v1::ToolchainInfo>(std::move(*reply->mutable_toolchain()));
    remember(kind, info);
    flight->complete(std::shared_ptr<const v1::ToolchainInfo>(std::move(info)));
  };
  absl::StatusOr<std::uint64_t> id = pool_->submit(std::move(job));
  if (!id.ok()) return flight->complete(id.status());
  flight->on_cancel([pool = pool_, id = *id] { pool->cancel(id); });
  flight->on_join([pool = pool_, id = *id](const ClientId& other) { pool->share(id, other); });
}

void BlobToolchains::remember(const std::string& kind, const std::shared_ptr<const v1::ToolchainInfo>& info) {
  const std::optional<files::FileStamp> stamp = files::stamp_of(info->compiler());
  if (!stamp) return;
  std::lock_guard lock(mutex_);
  known_[kind] = {*stamp, info};
}

void BlobToolchains::forget(const std::string& kind) {
  std::lock_guard lock(mutex_);
  known_.erase(kind);
}

}  // namespace hearth::daemon
