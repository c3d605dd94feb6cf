// Blobs that are larger than a batch, by ByteStream. Neither is taken up where it was cut off: three of five servers
// refuse that, and a blob is read or written again when it is next wanted.
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "daemon/remote/remote_calls.h"
#include "remote_execution/bytestream.grpc.pb.h"

namespace hearth::daemon {
namespace {

namespace stream = google::bytestream;

constexpr std::size_t kChunkBytes = 1 << 20;  // of a message that is written

// A version 4 UUID (RFC 9562), as the API wants one for each upload.
std::string upload_id() {
  std::array<std::uint8_t, 16> bytes{};
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = to_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
  return text;
}

}  // namespace

class RemoteEndpoint::LargeRead : public ContextCall,
                                  public grpc::ClientReadReactor<stream::ReadResponse>,
                                  public std::enable_shared_from_this<LargeRead> {
 public:
  LargeRead(RemoteEndpoint* endpoint, const BlobReference& blob, Done<std::string> done)
      : endpoint_(*endpoint), blob_(blob), done_(std::move(done)) {}

  void begin(const std::shared_ptr<grpc::Channel>& channel) {
    self_ = shared_from_this();
    stream::ByteStream::Stub(channel).async()->Read(&context(), &request, this);
    StartRead(&response_);
    StartCall();
  }

  stream::ReadRequest request;

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (response_.data().size() > blob_.size - bytes_.size()) {
      problem_ = endpoint_.lie(str_cat("more bytes than blob ", to_hex(blob_.digest), " has"));
      return cancel();
    }
    bytes_ += response_.data();
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    if (problem_.ok()) problem_ = endpoint_.status_of(status);
    if (problem_.ok() && !blob_.is_of(bytes_))
      problem_ = endpoint_.lie(str_cat("other bytes than those of blob ", to_hex(blob_.digest)));
    const Done<std::string> done = std::move(done_);  // whoever waits holds this call
    if (problem_.ok()) {
      done(std::move(bytes_));
    } else {
      done(std::move(problem_));
    }
    const std::shared_ptr<LargeRead> self = std::move(self_);
    const std::shared_ptr<Calls> calls = endpoint_.calls_;
    calls->leave(self);
  }

  RemoteEndpoint& endpoint_;
  const BlobReference blob_;
  Done<std::string> done_;
  std::shared_ptr<LargeRead> self_;  // until OnDone
  stream::ReadResponse response_;
  std::string bytes_;
  absl::Status problem_;
};

class RemoteEndpoint::LargeWrite : public ContextCall,
                                   public grpc::ClientWriteReactor<stream::WriteRequest>,
                                   public std::enable_shared_from_this<LargeWrite> {
 public:
  LargeWrite(RemoteEndpoint* endpoint, std::shared_ptr<const std::string> bytes, DoneStatus done)
      : endpoint_(*endpoint), bytes_(std::move(bytes)), done_(std::move(done)) {}

  void begin(const std::shared_ptr<grpc::Channel>& channel) {
    self_ = shared_from_this();
    stream::ByteStream::Stub(channel).async()->Write(&context(), &response_, this);
    write_next();
    StartCall();
  }

  stream::WriteRequest request;  // its first one has the resource's name

 private:
  void write_next() {
    const std::size_t size = std::min(kChunkBytes, bytes_->size() - written_);
    request.set_write_offset(static_cast<std::int64_t>(written_));
    request.set_data(bytes_->substr(written_, size));
    written_ += size;
    request.set_finish_write(written_ == bytes_->size());
    if (request.finish_write()) {
      StartWriteLast(&request, grpc::WriteOptions());
    } else {
      StartWrite(&request);
    }
  }
  // A server that has the blob already ends the call early, with OK and its size.
  void OnWriteDone(bool ok) override {
    if (ok && written_ < bytes_->size()) write_next();
  }
  void OnDone(const grpc::Status& status) override {
    absl::Status result = endpoint_.status_of(status);
    if (result.ok() && response_.committed_size() != static_cast<std::int64_t>(bytes_->size()))
      result = endpoint_.lie(str_cat(response_.committed_size(), " bytes were kept of ", bytes_->size()));
    const DoneStatus done = std::move(done_);  // whoever waits holds this call
    done(std::move(result));
    const std::shared_ptr<LargeWrite> self = std::move(self_);
    const std::shared_ptr<Calls> calls = endpoint_.calls_;
    calls->leave(self);
  }

  RemoteEndpoint& endpoint_;
  const std::shared_ptr<const std::string> bytes_;
  DoneStatus done_;
  std::shared_ptr<LargeWrite> self_;  // until OnDone
  stream::WriteResponse response_;
  std::size_t written_ = 0;
};

RemoteEndpoint::Handle RemoteEndpoint::read_large_blob(const BlobReference& blob, Done<std::string> done) {
  auto call = std::make_shared<LargeRead>(this, blob, done);
  call->request.set_resource_name(resource("", blob));
  const std::shared_ptr<grpc::Channel> channel = open(call->context(), "", blob.size, done);
  if (!channel) return nullptr;
  if (!calls_->enter(call)) return done(absl::CancelledError("the daemon is leaving")), nullptr;
  call->begin(channel);
  return call;
}

RemoteEndpoint::Handle RemoteEndpoint::write_large_blob(std::shared_ptr<const std::string> bytes, DoneStatus done) {
  auto call = std::make_shared<LargeWrite>(this, bytes, done);
  call->request.set_resource_name(resource(str_cat("uploads/", upload_id(), "/").c_str(), BlobReference::of(*bytes)));
  const std::shared_ptr<grpc::Channel> channel = open(call->context(), "", bytes->size(), done);
  if (!channel) return nullptr;
  if (!calls_->enter(call)) return done(absl::CancelledError("the daemon is leaving")), nullptr;
  call->begin(channel);
  return call;
}

}  // namespace hearth::daemon
