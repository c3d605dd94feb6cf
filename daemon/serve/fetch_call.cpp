#include "daemon/serve/fetch_call.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/prepare/preparer.h"
#include "daemon/serve/grpc_status.h"
#include "daemon/serve/message_bytes.h"
#include "daemon/store/artifact_grants.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

FetchCall::FetchCall(const CallServices& services, grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes)
    : context_(context), store_(*services.store), token_(services.activity->begin()), link_(std::make_shared<Link>()) {
  v1::FetchArtifactRequest request;
  absl::Status read = read_small_request(*const_cast<grpc::ByteBuffer*>(bytes), request);
  if (read.ok() && request.digest().size() != digest_.size())
    read = absl::InvalidArgumentError(absl::StrCat("a digest has 32 bytes, not ", request.digest().size()));
  std::lock_guard lock(link_->mutex);
  link_->call = this;
  if (!read.ok()) {
    finish(to_grpc_status(read, context));
    return;
  }
  std::copy(request.digest().begin(), request.digest().end(), digest_.begin());
  const ClientId client = services.clients->of(*context);
  if (!services.grants->allows(client.uid, digest_)) {
    finish(to_grpc_status(ResultStore::no_artifact(digest_), context));
    return;
  }
  const auto open_later = [link = link_] {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->open();
  };
  const auto cancel = [link = link_] {
    std::lock_guard lock(link->mutex);
    if (link->call != nullptr) link->call->context_->TryCancel();
  };
  charge_ = services.answers->take(client, kChunkBytes, open_later, cancel);
  if (charge_.has_room()) services.preparer->services().executor->post_for(client, open_later);
}

void FetchCall::open() {
  if (finished_ || read_ || !charge_.has_room()) return;
  absl::StatusOr<ResultStore::ReadArtifact> opened = store_.open_artifact(digest_);
  spdlog::trace("artifact {} is fetched: {}", to_hex(digest_).substr(0, 12),
                opened.status().ok() ? "found" : "not found");
  if (!opened.ok()) return finish(to_grpc_status(opened.status(), context_));
  read_ = *std::move(opened);
  write_next();
}

void FetchCall::OnWriteDone(bool ok) {
  std::lock_guard lock(link_->mutex);
  if (finished_) return;
  if (!ok) return finish(grpc::Status::CANCELLED);
  charge_.touch();
  write_next();
}

void FetchCall::OnCancel() {
  std::lock_guard lock(link_->mutex);
  finish(grpc::Status::CANCELLED);
}

void FetchCall::OnDone() {
  {
    std::lock_guard lock(link_->mutex);
    link_->call = nullptr;
  }
  delete this;
}

void FetchCall::write_next() {
  absl::StatusOr<std::string> bytes = read_(offset_, kChunkBytes);
  if (!bytes.ok() || bytes->empty()) return finish(to_grpc_status(bytes.status(), context_));
  offset_ += bytes->size();
  v1::FetchArtifactChunk chunk;
  chunk.set_data(*std::move(bytes));
  chunk_ = to_byte_buffer(chunk);
  StartWrite(&chunk_);
}

void FetchCall::finish(const grpc::Status& status) {
  if (!std::exchange(finished_, true)) Finish(status);
}

}  // namespace hearth::daemon
