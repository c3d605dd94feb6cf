#include "daemon/remote/remote_endpoint.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "daemon/remote/remote_calls.h"
#include "remote_execution/remote_execution.grpc.pb.h"

namespace hearth::daemon {

namespace api = build::bazel::remote::execution::v2;

namespace {

constexpr int kSha256 = 1;                  // DigestFunction
constexpr std::size_t kMaxWords = 200;      // bytes of a server's message
constexpr std::size_t kMaxPathBytes = 256;  // of a listed file
constexpr std::size_t kMaxNoteBytes = 256;
// A call that carries more than a batch has a second more for each of these.
constexpr std::uint64_t kSlowestBytesPerSecond = 4 << 20;

}  // namespace

RemoteEndpoint::RemoteEndpoint(RemoteAddress address, const RemoteSettings& settings)
    : settings_(settings), channel_(std::move(address), settings), calls_(std::make_shared<Calls>()) {}

RemoteEndpoint::~RemoteEndpoint() { calls_->end(); }

absl::Status RemoteEndpoint::status_of(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  return {absl::StatusCode(status.error_code()),
          str_cat(address().text, ": ", printable(status.error_message(), kMaxWords))};
}

// One blob's status is a field of a message, which may hold any number.
absl::Status RemoteEndpoint::status_of(const api::BlobStatus& status) const {
  const bool is_known = status.code() > 0 && status.code() <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return {is_known ? absl::StatusCode(status.code()) : absl::StatusCode::kUnknown,
          str_cat(address().text, ": ", printable(status.message(), kMaxWords))};
}

absl::Status RemoteEndpoint::lie(std::string_view what) const {
  return absl::DataLossError(str_cat(address().text, ": ", what));
}

std::shared_ptr<grpc::Channel> RemoteEndpoint::open(grpc::ClientContext& context, const std::string& action_id,
                                                    std::uint64_t bytes,
                                                    const std::function<void(absl::Status)>& fail) {
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = channel_.channel();
  absl::Status status = channel.status();
  if (status.ok()) status = channel_.introduce(context, action_id);
  if (!status.ok()) {
    fail(std::move(status));
    return nullptr;
  }
  // The monotonic clock: a machine's time may be set.
  const std::int64_t limit_ms =
      settings_.call_limit.count() + static_cast<std::int64_t>(bytes * 1000 / kSlowestBytesPerSecond);
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(limit_ms, GPR_TIMESPAN)));
  return *std::move(channel);
}

RemoteEndpoint::Handle RemoteEndpoint::get_capabilities(Done<ServerAbilities> done) {
  api::GetCapabilitiesRequest request;
  request.set_instance_name(settings_.instance);
  const auto begin = [](const auto& channel, auto* context, auto* request, auto* response, auto then) {
    api::Capabilities::Stub(channel).async()->GetCapabilities(context, request, response, std::move(then));
  };
  const auto answered = [this, done = std::move(done)](const absl::Status& status, api::ServerCapabilities& response) {
    if (!status.ok()) return done(status);
    const api::CacheCapabilities& cache = response.cache_capabilities();
    if (std::ranges::find(cache.digest_functions(), kSha256) == cache.digest_functions().end()) {
      return done(absl::FailedPreconditionError(
          str_cat(address().text, ": the server keeps no blobs by SHA-256; give one that does")));
    }
    ServerAbilities abilities;
    abilities.takes_results = cache.action_cache_update_capabilities().update_enabled();
    const std::int64_t announced = cache.max_batch_total_size_bytes();
    abilities.batch_bytes = kBatchBytes;
    if (announced > 0 && announced < kMaxRemoteMessageBytes)
      abilities.batch_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(announced - (64 << 10), announced / 2));
    done(abilities);
  };
  return unary<decltype(begin), api::GetCapabilitiesRequest, api::ServerCapabilities>(std::move(request), "", begin,
                                                                                      answered);
}

RemoteEndpoint::Handle RemoteEndpoint::get_action(const BlobReference& action, bool wants_note,
                                                  std::function<void(const absl::Status&, api::ActionResult&)> done) {
  api::GetActionResultRequest request;
  request.set_instance_name(settings_.instance);
  request.set_inline_stdout(wants_note);
  action.write_to(request.mutable_action_digest());
  const auto begin = [](const auto& channel, auto* context, auto* request, auto* response, auto then) {
    api::ActionCache::Stub(channel).async()->GetActionResult(context, request, response, std::move(then));
  };
  return unary<decltype(begin), api::GetActionResultRequest, api::ActionResult>(
      std::move(request), to_hex(action.digest), begin, std::move(done));
}

RemoteEndpoint::Handle RemoteEndpoint::put_action(const BlobReference& action, api::ActionResult result,
                                                  DoneStatus done) {
  api::UpdateActionResultRequest request;
  request.set_instance_name(settings_.instance);
  action.write_to(request.mutable_action_digest());
  *request.mutable_action_result() = std::move(result);
  const auto begin = [](const auto& channel, auto* context, auto* request, auto* response, auto then) {
    api::ActionCache::Stub(channel).async()->UpdateActionResult(context, request, response, std::move(then));
  };
  const auto answered = [done = std::move(done)](absl::Status status, api::ActionResult&) { done(std::move(status)); };
  return unary<decltype(begin), api::UpdateActionResultRequest, api::ActionResult>(
      std::move(request), to_hex(action.digest), begin, answered);
}

RemoteEndpoint::Handle RemoteEndpoint::get_result(const BlobReference& action, Done<std::vector<ListedFile>> done) {
  return get_action(action, /*wants_note=*/false,
                    [this, done = std::move(done)](const absl::Status& status, api::ActionResult& response) {
                      if (!status.ok()) return done(status);
                      if (static_cast<std::size_t>(response.output_files_size()) > kMaxListedFiles)
                        return done(lie(str_cat("a result of ", response.output_files_size(), " files")));
                      std::vector<ListedFile> files;
                      for (const api::OutputFile& file : response.output_files()) {
                        const std::optional<BlobReference> blob = BlobReference::from(file.digest());
                        if (!blob || file.path().empty() || file.path().size() > kMaxPathBytes)
                          return done(lie("a result that lists something else than files"));
                        files.push_back({file.path(), *blob});
                      }
                      done(std::move(files));
                    });
}

RemoteEndpoint::Handle RemoteEndpoint::put_result(const BlobReference& action, const std::vector<ListedFile>& files,
                                                  DoneStatus done) {
  api::ActionResult result;
  for (const ListedFile& file : files) {
    api::OutputFile& output = *result.add_output_files();
    output.set_path(file.path);
    file.blob.write_to(output.mutable_digest());
  }
  return put_action(action, std::move(result), std::move(done));
}

RemoteEndpoint::Handle RemoteEndpoint::get_note(const BlobReference& action, Done<std::string> done) {
  return get_action(action, /*wants_note=*/true,
                    [this, done = std::move(done)](const absl::Status& status, api::ActionResult& response) {
                      if (!status.ok()) return done(status);
                      if (response.stdout_raw().size() > kMaxNoteBytes) return done(lie("a note of many bytes"));
                      done(std::move(*response.mutable_stdout_raw()));
                    });
}

RemoteEndpoint::Handle RemoteEndpoint::put_note(const BlobReference& action, const std::string& note, DoneStatus done) {
  api::ActionResult result;
  result.set_stdout_raw(note);
  return put_action(action, std::move(result), std::move(done));
}

RemoteEndpoint::Handle RemoteEndpoint::read_blobs(std::vector<BlobReference> blobs,
                                                  Done<std::vector<std::string>> done) {
  if (blobs.empty()) return done(std::vector<std::string>()), nullptr;
  api::BatchReadBlobsRequest request;
  request.set_instance_name(settings_.instance);
  for (const BlobReference& blob : blobs) blob.write_to(request.add_digests());
  const auto begin = [](const auto& channel, auto* context, auto* request, auto* response, auto then) {
    api::ContentAddressableStorage::Stub(channel).async()->BatchReadBlobs(context, request, response, std::move(then));
  };
  const auto answered = [this, blobs = std::move(blobs), done = std::move(done)](
                            const absl::Status& status, api::BatchReadBlobsResponse& response) {
    if (!status.ok()) return done(status);
    std::map<BlobReference, std::string> read;
    const std::set<BlobReference> wanted(blobs.begin(), blobs.end());
    for (api::BatchReadBlobsResponse::Response& answer : *response.mutable_responses()) {
      const std::optional<BlobReference> blob = BlobReference::from(answer.digest());
      if (!blob || !wanted.contains(*blob)) return done(lie("a blob that was not asked for"));
      if (answer.status().code() != 0) return done(status_of(answer.status()));
      if (answer.compressor() != 0 || !blob->is_of(answer.data()))
        return done(lie(str_cat("other bytes than those of blob ", to_hex(blob->digest))));
      read[*blob] = std::move(*answer.mutable_data());
    }
    std::vector<std::string> bytes;
    for (const BlobReference& blob : blobs) {
      const auto place = read.find(blob);
      if (place == read.end()) return done(lie(str_cat("nothing of blob ", to_hex(blob.digest))));
      bytes.push_back(std::move(place->second));
    }
    done(std::move(bytes));
  };
  return unary<decltype(begin), api::BatchReadBlobsRequest, api::BatchReadBlobsResponse>(std::move(request), "", begin,
                                                                                         answered);
}

RemoteEndpoint::Handle RemoteEndpoint::write_blobs(const std::vector<std::string>& blobs, DoneStatus done) {
  api::BatchUpdateBlobsRequest request;
  request.set_instance_name(settings_.instance);
  for (const std::string& bytes : blobs) {
    api::BatchUpdateBlobsRequest::Request& blob = *request.add_requests();
    BlobReference::of(bytes).write_to(blob.mutable_digest());
    blob.set_data(bytes);
  }
  const auto begin = [](const auto& channel, auto* context, auto* request, auto* response, auto then) {
    api::ContentAddressableStorage::Stub(channel).async()->BatchUpdateBlobs(context, request, response,
                                                                            std::move(then));
  };
  const auto answered = [this, done = std::move(done)](absl::Status status, api::BatchUpdateBlobsResponse& response) {
    for (const api::BatchUpdateBlobsResponse::Response& answer : response.responses()) {
      if (status.ok() && answer.status().code() != 0) status = status_of(answer.status());
    }
    done(std::move(status));
  };
  return unary<decltype(begin), api::BatchUpdateBlobsRequest, api::BatchUpdateBlobsResponse>(std::move(request), "",
                                                                                             begin, answered);
}

std::string RemoteEndpoint::resource(const char* verb, const BlobReference& blob) const {
  return str_cat(settings_.instance, settings_.instance.empty() ? "" : "/", verb, "blobs/", to_hex(blob.digest), "/",
                 blob.size);
}

}  // namespace hearth::daemon
