// RemoteCacheServer: a cache of the Remote Execution API v2 in this process, in memory, which records what it is asked
// and lies or stalls where a test wants it to. Thread-safe.
//
//   test::RemoteCacheServer server("unix:" + folder.path("casd.sock"));
//   server.on_result = [](auto& result) { result.mutable_output_files(0)->set_path("../plan"); return grpc::Status::OK; };
//   CHECK(server.calls() == std::vector<std::string>{"GetActionResult", "BatchReadBlobs"});
#pragma once
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "remote_execution/bytestream.grpc.pb.h"
#include "remote_execution/remote_execution.grpc.pb.h"

namespace hearth::test {

namespace api = build::bazel::remote::execution::v2;

class RemoteCacheServer {
 public:
  // `address`: gRPC's, such as "unix:/tmp/x.sock".
  explicit RemoteCacheServer(const std::string& address);
  ~RemoteCacheServer();

  // Each call by name, in their order, with those that failed.
  std::vector<std::string> calls() const;
  std::uint64_t count(const std::string& call) const;
  // Metadata of the last call, by name.
  std::string metadata(const std::string& name) const;
  // What it has: blobs by hash, results by the action's hash.
  std::map<std::string, std::string> blobs() const;
  std::map<std::string, api::ActionResult> results() const;
  void put_blob(const std::string& bytes);
  void set_result(const std::string& action, const api::ActionResult& result);
  void remove_blobs();
  void clear();

  // Calls wait until release(), or until their callers have gone: all of them, or those of this name.
  void hold(const std::string& call = "");
  void release();
  std::uint64_t held() const { return held_; }

  // What becomes of an answer before it is sent; null: nothing. Set while no call is under way.
  std::function<grpc::Status(api::ServerCapabilities&)> on_capabilities;
  std::function<grpc::Status(api::ActionResult&)> on_result;
  std::function<grpc::Status(api::BatchReadBlobsResponse&)> on_blobs;
  std::function<grpc::Status(grpc::ServerWriter<google::bytestream::ReadResponse>&, std::string bytes)> on_stream;
  std::function<grpc::Status()> on_update;                          // of a result
  std::function<grpc::Status(const grpc::ServerContext&)> on_call;  // before anything else

 private:
  class Services;
  bool is_held(const std::string& call) const;
  grpc::Status arrived(const char* call, grpc::ServerContext* context);

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::map<std::string, std::string> metadata_, blobs_;
  std::map<std::string, api::ActionResult> results_;
  std::string held_call_;  // of hold()
  std::atomic<bool> holds_{false};
  std::atomic<std::uint64_t> held_{0};
  std::unique_ptr<Services> services_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace hearth::test
