// A daemon that is told to end while it compiles: what it still does, and how soon another one serves in its place.
#include <grpcpp/grpcpp.h>

#include "hearth/v1/compiler_service.grpc.pb.h"
#include "tests/fault/daemon/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {
namespace {

// A call that a daemon has begun to compile.
class RunningPrepare {
 public:
  RunningPrepare(const Place& place, const std::string& kernel) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel("unix:" + place.socket, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::CompilerService::NewStub(channel_);
    v1::PrepareRequest request = test_request({kernel});
    request.set_want_progress(true);
    stream_ = stub_->Prepare(&context_, request);
    v1::PrepareEvent event;
    while (stream_->Read(&event) && event.progress().state() != v1::PrepareProgress::COMPILING) {
    }
    REQUIRE(event.progress().state() == v1::PrepareProgress::COMPILING);
  }
  grpc::Status finish() {
    v1::PrepareEvent event;
    while (stream_->Read(&event)) {
      if (event.has_result()) result_ = event.result();
    }
    return stream_->Finish();
  }
  const v1::PrepareResult& result() const { return result_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CompilerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::PrepareEvent>> stream_;
  v1::PrepareResult result_;
};

std::vector<std::string> patient(const Place& place) {
  return place.arguments({"--hang-limit", "600", "--compile-limit", "600"});
}

bool runs(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == 0; }

TEST_CASE("a daemon that ends in the middle of a long compile keeps no new request waiting") {
  Place place;
  Process ending(place.folder, patient(place));
  REQUIRE(ending.ready());
  RunningPrepare compiling(place, "kernel:hang");
  const auto told = std::chrono::steady_clock::now();
  ending.send(SIGTERM);
  REQUIRE(test::eventually([&] { return !std::filesystem::exists(place.socket); }));
  Process next(place.folder, patient(place));
  REQUIRE(next.ready());
  RunningPrepare fresh(place, "kernel:fresh");
  CHECK(fresh.finish().ok());
  const auto took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - told).count();
  WARN("SIGTERM in the middle of a compile: a new request was answered " << took_ms << " ms later, by a new daemon");
  CHECK(fresh.result().compiled_kernels() == 1);
  CHECK_FALSE(fresh.result().artifacts(0).path().empty());  // it owns the cache: what it compiles is stored
  CHECK(runs(ending.pid()));                                // all that while the first one was waiting for its compile
  CHECK(ending.log().find("another daemon has taken the cache over") != std::string::npos);
}

TEST_CASE("a call that outlives its daemon's cache is answered all the same") {
  Place place;
  Process ending(place.folder, patient(place));
  REQUIRE(ending.ready());
  RunningPrepare compiling(place, "kernel:slower");
  ending.send(SIGTERM);
  REQUIRE(test::eventually([&] { return !std::filesystem::exists(place.socket); }));
  Process next(place.folder, patient(place));
  REQUIRE(next.ready());
  const grpc::Status status = compiling.finish();
  INFO(status.error_message());
  CHECK(status.ok());
  CHECK_FALSE(compiling.result().plan().empty());
  CHECK(ending.wait() == 0);
  CHECK(next.log().find("damaged") == std::string::npos);
  RunningPrepare again(place, "kernel:slow");
  CHECK(again.finish().ok());
}

TEST_CASE("what a daemon compiles while it ends is stored when nobody waits for the cache") {
  Place place;
  {
    Process ending(place.folder, patient(place));
    REQUIRE(ending.ready());
    RunningPrepare compiling(place, "kernel:slower");
    ending.send(SIGTERM);
    CHECK(compiling.finish().ok());
    CHECK(ending.wait() == 0);
  }
  Process next(place.folder, patient(place));
  REQUIRE(next.ready());
  const auto channel = grpc::CreateChannel("unix:" + place.socket, grpc::InsecureChannelCredentials());
  const auto stub = v1::CompilerService::NewStub(channel);
  grpc::ClientContext context;
  auto stream = stub->Prepare(&context, test_request({"kernel:slower"}));
  v1::PrepareEvent event;
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().ok());
  CHECK(event.result().plan_hit());
}

}  // namespace
}  // namespace hearth::daemon
