// RemoteEndpoint: the calls of the Remote Execution API that a cache of results needs, to one server, asynchronously
// (gRPC's callback API). What a server answers is believed only as far as it can be checked: digests and sizes are, and
// no answer takes more memory than was asked for.
// Every call returns at once and has a deadline; `done` is called once, on a thread of gRPC's, or before the call
// returns where nothing could be sent. Callers hold no lock that `done` takes. Thread-safe; the destructor cancels what
// is under way and waits for it, so `done` never destroys an endpoint.
// Errors: the server's code, its message made printable, behind the address; DATA_LOSS for an answer that is a lie;
// RESOURCE_EXHAUSTED for one that is larger than announced; FAILED_PRECONDITION, RemoteChannel's.
//
//   RemoteEndpoint endpoint(address, settings);
//   std::shared_ptr<RemoteCall> call = endpoint.read_blobs({plan, kernel}, [](auto blobs) { … });
//   if (call) call->cancel();
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/remote/blob_reference.h"
#include "daemon/remote/remote_channel.h"

namespace build::bazel::remote::execution::v2 {
class ActionResult;
class BlobStatus;
}  // namespace build::bazel::remote::execution::v2

namespace hearth::daemon {

// A call under way. cancel() ends it early, with CANCELLED.
class RemoteCall {
 public:
  virtual ~RemoteCall() = default;
  virtual void cancel() = 0;
};

// A file that a result lists.
struct ListedFile {
  std::string path;
  BlobReference blob;
};

struct ServerAbilities {
  bool takes_results = true;      // or only gives them
  std::uint64_t batch_bytes = 0;  // of the blobs of one call together
};

class RemoteEndpoint {
 public:
  template <class T>
  using Done = std::function<void(absl::StatusOr<T>)>;
  using DoneStatus = std::function<void(absl::Status)>;
  using Handle = std::shared_ptr<RemoteCall>;  // null: it has been answered

  // What fits into one batch where nothing is known of the server: gRPC's limit of a message, less what surrounds blobs.
  static constexpr std::uint64_t kBatchBytes = kMaxRemoteMessageBytes - (64 << 10);
  static constexpr std::size_t kMaxListedFiles = 4097;  // kMaxStatedFiles and the statement

  RemoteEndpoint(RemoteAddress address, const RemoteSettings& settings);
  ~RemoteEndpoint();

  const RemoteAddress& address() const { return channel_.address(); }

  // FAILED_PRECONDITION for a server that keeps blobs by other digests than SHA-256.
  Handle get_capabilities(Done<ServerAbilities> done);
  // NOT_FOUND: a miss.
  Handle get_result(const BlobReference& action, Done<std::vector<ListedFile>> done);
  Handle put_result(const BlobReference& action, const std::vector<ListedFile>& files, DoneStatus done);
  // The same of a result that has a few bytes in place of files.
  Handle get_note(const BlobReference& action, Done<std::string> done);
  Handle put_note(const BlobReference& action, const std::string& note, DoneStatus done);
  // In their order; all of them or an error, NOT_FOUND if one is gone. Together at most batch_bytes, all distinct.
  Handle read_blobs(std::vector<BlobReference> blobs, Done<std::vector<std::string>> done);
  Handle write_blobs(const std::vector<std::string>& blobs, DoneStatus done);
  // One that is larger than a batch.
  Handle read_large_blob(const BlobReference& blob, Done<std::string> done);
  Handle write_large_blob(std::shared_ptr<const std::string> bytes, DoneStatus done);

 private:
  class Calls;
  class ContextCall;
  template <class Request, class Response>
  class Unary;
  class LargeRead;
  class LargeWrite;

  using ActionResult = build::bazel::remote::execution::v2::ActionResult;

  Handle get_action(const BlobReference& action, bool wants_note,
                    std::function<void(const absl::Status&, ActionResult&)> done);
  Handle put_action(const BlobReference& action, ActionResult result, DoneStatus done);
  template <class Stub, class Request, class Response>
  Handle unary(Request request, const std::string& action_id, Stub stub,
               std::function<void(absl::Status, Response&)> done);
  // The server's words, behind its address.
  absl::Status status_of(const grpc::Status& status) const;
  absl::Status status_of(const build::bazel::remote::execution::v2::BlobStatus& status) const;
  absl::Status lie(std::string_view what) const;
  std::string resource(const char* verb, const BlobReference& blob) const;
  // Where nothing can be sent, tells `fail` why and is null.
  std::shared_ptr<grpc::Channel> open(grpc::ClientContext& context, const std::string& action_id, std::uint64_t bytes,
                                      const std::function<void(absl::Status)>& fail);

  const RemoteSettings settings_;
  RemoteChannel channel_;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace hearth::daemon
