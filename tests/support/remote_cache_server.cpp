#include "tests/support/remote_cache_server.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/sha256.h"

namespace hearth::test {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;  // more than clients take: it is them who are tested

// The hash of ".../blobs/HASH/SIZE".
std::string hash_of(const std::string& resource) {
  const std::size_t at = resource.find("blobs/");
  return at == std::string::npos ? "" : resource.substr(at + 6, 64);
}

}  // namespace

class RemoteCacheServer::Services {
 public:
  explicit Services(RemoteCacheServer* owner) : capabilities(owner), actions(owner), storage(owner), stream(owner) {}

  struct Capabilities : api::Capabilities::Service {
    explicit Capabilities(RemoteCacheServer* owner) : server(*owner) {}
    grpc::Status GetCapabilities(grpc::ServerContext* context, const api::GetCapabilitiesRequest*,
                                 api::ServerCapabilities* answer) override {
      if (grpc::Status status = server.arrived("GetCapabilities", context); !status.ok()) return status;
      answer->mutable_cache_capabilities()->add_digest_functions(1);
      answer->mutable_cache_capabilities()->mutable_action_cache_update_capabilities()->set_update_enabled(true);
      return server.on_capabilities ? server.on_capabilities(*answer) : grpc::Status::OK;
    }
    RemoteCacheServer& server;
  };

  struct Actions : api::ActionCache::Service {
    explicit Actions(RemoteCacheServer* owner) : server(*owner) {}
    grpc::Status GetActionResult(grpc::ServerContext* context, const api::GetActionResultRequest* request,
                                 api::ActionResult* answer) override {
      if (grpc::Status status = server.arrived("GetActionResult", context); !status.ok()) return status;
      const auto results = server.results();
      const auto place = results.find(request->action_digest().hash());
      if (place == results.end()) return {grpc::StatusCode::NOT_FOUND, "no such result"};
      *answer = place->second;
      return server.on_result ? server.on_result(*answer) : grpc::Status::OK;
    }
    grpc::Status UpdateActionResult(grpc::ServerContext* context, const api::UpdateActionResultRequest* request,
                                    api::ActionResult* answer) override {
      if (grpc::Status status = server.arrived("UpdateActionResult", context); !status.ok()) return status;
      if (server.on_update) {
        if (grpc::Status status = server.on_update(); !status.ok()) return status;
      }
      server.set_result(request->action_digest().hash(), request->action_result());
      *answer = request->action_result();
      return grpc::Status::OK;
    }
    RemoteCacheServer& server;
  };

  struct Storage : api::ContentAddressableStorage::Service {
    explicit Storage(RemoteCacheServer* owner) : server(*owner) {}
    grpc::Status BatchUpdateBlobs(grpc::ServerContext* context, const api::BatchUpdateBlobsRequest* request,
                                  api::BatchUpdateBlobsResponse* answer) override {
      if (grpc::Status status = server.arrived("BatchUpdateBlobs", context); !status.ok()) return status;
      for (const auto& blob : request->requests()) {
        auto& response = *answer->add_responses();
        *response.mutable_digest() = blob.digest();
        if (to_hex(sha256(blob.data())) != blob.digest().hash()) response.mutable_status()->set_code(3);
        server.put_blob(blob.data());
      }
      return grpc::Status::OK;
    }
    grpc::Status BatchReadBlobs(grpc::ServerContext* context, const api::BatchReadBlobsRequest* request,
                                api::BatchReadBlobsResponse* answer) override {
      if (grpc::Status status = server.arrived("BatchReadBlobs", context); !status.ok()) return status;
      const auto blobs = server.blobs();
      for (const api::Digest& digest : request->digests()) {
        auto& response = *answer->add_responses();
        *response.mutable_digest() = digest;
        const auto place = blobs.find(digest.hash());
        if (place == blobs.end()) {
          response.mutable_status()->set_code(5);
        } else {
          response.set_data(place->second);
        }
      }
      return server.on_blobs ? server.on_blobs(*answer) : grpc::Status::OK;
    }
    RemoteCacheServer& server;
  };

  struct Stream : google::bytestream::ByteStream::Service {
    explicit Stream(RemoteCacheServer* owner) : server(*owner) {}
    grpc::Status Read(grpc::ServerContext* context, const google::bytestream::ReadRequest* request,
                      grpc::ServerWriter<google::bytestream::ReadResponse>* writer) override {
      if (grpc::Status status = server.arrived("Read", context); !status.ok()) return status;
      const auto blobs = server.blobs();
      const auto place = blobs.find(hash_of(request->resource_name()));
      if (place == blobs.end()) return {grpc::StatusCode::NOT_FOUND, "no such blob"};
      if (server.on_stream) return server.on_stream(*writer, place->second);
      constexpr std::size_t kChunk = 1 << 20;
      for (std::size_t at = 0; at < place->second.size(); at += kChunk) {
        google::bytestream::ReadResponse response;
        response.set_data(place->second.substr(at, kChunk));
        if (!writer->Write(response)) break;
      }
      return grpc::Status::OK;
    }
    grpc::Status Write(grpc::ServerContext* context, grpc::ServerReader<google::bytestream::WriteRequest>* reader,
                       google::bytestream::WriteResponse* answer) override {
      if (grpc::Status status = server.arrived("Write", context); !status.ok()) return status;
      std::string resource, bytes;
      google::bytestream::WriteRequest request;
      while (reader->Read(&request)) {
        if (resource.empty()) resource = request.resource_name();
        if (request.write_offset() != static_cast<std::int64_t>(bytes.size()))
          return {grpc::StatusCode::INVALID_ARGUMENT, "write_offset"};
        bytes += request.data();
      }
      if (!request.finish_write() || to_hex(sha256(bytes)) != hash_of(resource))
        return {grpc::StatusCode::INVALID_ARGUMENT, "not that blob"};
      answer->set_committed_size(static_cast<std::int64_t>(bytes.size()));
      server.put_blob(bytes);
      return grpc::Status::OK;
    }
    RemoteCacheServer& server;
  };

  Capabilities capabilities;
  Actions actions;
  Storage storage;
  Stream stream;
};

RemoteCacheServer::RemoteCacheServer(const std::string& address) : services_(std::make_unique<Services>(this)) {
  put_blob("");
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  for (grpc::Service* service :
       {static_cast<grpc::Service*>(&services_->capabilities), static_cast<grpc::Service*>(&services_->actions),
        static_cast<grpc::Service*>(&services_->storage), static_cast<grpc::Service*>(&services_->stream)})
    builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("no server at " + address);
}

RemoteCacheServer::~RemoteCacheServer() {
  release();
  server_->Shutdown(std::chrono::system_clock::now());
}

grpc::Status RemoteCacheServer::arrived(const char* call, grpc::ServerContext* context) {
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(call);
    for (const auto& [name, value] : context->client_metadata())
      metadata_[std::string(name.data(), name.size())] = std::string(value.data(), value.size());
  }
  if (on_call) {
    if (grpc::Status status = on_call(*context); !status.ok()) return status;
  }
  if (!holds_ || !is_held(call)) return grpc::Status::OK;
  ++held_;
  while (holds_ && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  --held_;
  return context->IsCancelled() ? grpc::Status(grpc::StatusCode::CANCELLED, "") : grpc::Status::OK;
}

std::vector<std::string> RemoteCacheServer::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::uint64_t RemoteCacheServer::count(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(std::ranges::count(calls_, call));
}

std::string RemoteCacheServer::metadata(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto place = metadata_.find(name);
  return place == metadata_.end() ? "" : place->second;
}

std::map<std::string, std::string> RemoteCacheServer::blobs() const {
  const std::lock_guard lock(mutex_);
  return blobs_;
}

std::map<std::string, api::ActionResult> RemoteCacheServer::results() const {
  const std::lock_guard lock(mutex_);
  return results_;
}

void RemoteCacheServer::put_blob(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  blobs_[to_hex(sha256(bytes))] = bytes;
}

void RemoteCacheServer::set_result(const std::string& action, const api::ActionResult& result) {
  const std::lock_guard lock(mutex_);
  results_[action] = result;
}

void RemoteCacheServer::remove_blobs() {
  const std::lock_guard lock(mutex_);
  blobs_.clear();
}

void RemoteCacheServer::clear() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  metadata_.clear();
  blobs_.clear();
  results_.clear();
}

void RemoteCacheServer::hold(const std::string& call) {
  const std::lock_guard lock(mutex_);
  held_call_ = call;
  holds_ = true;
}

bool RemoteCacheServer::is_held(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  return held_call_.empty() || held_call_ == call;
}

void RemoteCacheServer::release() { holds_ = false; }

}  // namespace hearth::test
