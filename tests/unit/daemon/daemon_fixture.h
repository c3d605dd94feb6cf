// A whole daemon in this process, on a private socket, with the fake compiler, and stubs to talk to it.
#pragma once
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/hearth_daemon.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "hearth/v1/compiler_service.grpc.pb.h"
#include "proto/socket_path.h"
#include "tests/support/eventually.h"
#include "tests/unit/daemon/test_folder.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {

struct Answer {
  grpc::Status status;
  v1::PrepareResult result;
  std::vector<v1::PrepareProgress> progress;
};

class DaemonFixture {
 public:
  explicit DaemonFixture(std::function<void(Config&)> change = nullptr) {
    config_.socket = folder_ / "s.sock";
    config_.cache_dir = folder_ / "cache";
    config_.worker = program("hearth-fake-worker");
    config_.workers = 2;
    config_.drain_ms = 5000;
    config_.temp_dir = folder_.path();
    if (change) change(config_);
    start();
  }

  void start() {
    auto daemon = HearthDaemon::start(config_);
    INFO(daemon.status());
    REQUIRE(daemon.ok());
    daemon_ = std::move(*daemon);
    connect();
  }
  void stop() { daemon_.reset(); }

  void connect() {
    compiler_ = v1::CompilerService::NewStub(channel());
    admin_ = v1::AdminService::NewStub(channel(admin_socket_path(config_.socket)));
  }
  // A connection of its own, as another process would have.
  std::shared_ptr<grpc::Channel> channel() const { return channel(config_.socket); }
  static std::shared_ptr<grpc::Channel> channel(const std::string& socket) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  }

  Answer prepare(const v1::PrepareRequest& request, std::chrono::milliseconds deadline = test::give_up()) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    return prepare(request, *compiler_, context);
  }
  // `on_progress` runs at every progress event.
  static Answer prepare(const v1::PrepareRequest& request, v1::CompilerService::Stub& stub,
                        grpc::ClientContext& context, const std::function<void()>& on_progress = nullptr) {
    Answer answer;
    auto stream = stub.Prepare(&context, request);
    v1::PrepareEvent event;
    while (stream->Read(&event)) {
      if (event.has_progress()) answer.progress.push_back(event.progress());
      if (event.has_progress() && on_progress) on_progress();
      if (event.has_result()) answer.result = event.result();
    }
    answer.status = stream->Finish();
    return answer;
  }

  v1::StatsResponse stats() {
    grpc::ClientContext context;
    v1::StatsResponse response;
    const grpc::Status status = admin_->Stats(&context, {}, &response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return response;
  }
  // Every Prepare that arrived is exactly one of these, once its call is gone.
  void check_identity(std::uint64_t requests) {
    v1::StatsResponse now;
    CHECK(test::eventually([&] { return (now = stats()).requests_in_flight() == 0; }));
    CHECK(now.requests() == requests);
    CHECK(now.requests() == now.plan_hits() + now.plan_misses() + now.plan_joined() + now.plan_errors());
  }

  v1::CompilerService::Stub& compiler() { return *compiler_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  HearthDaemon& daemon() { return *daemon_; }
  const Config& config() const { return config_; }
  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
  Config config_;
  std::unique_ptr<HearthDaemon> daemon_;
  std::unique_ptr<v1::CompilerService::Stub> compiler_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace hearth::daemon
