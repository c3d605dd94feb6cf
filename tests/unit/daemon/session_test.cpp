#include <grpcpp/generic/generic_stub.h>

#include <thread>

#include "tests/support/eventually.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

// An open Session stream.
class Session {
 public:
  explicit Session(DaemonFixture& fixture) : Session(fixture.compiler()) {}
  explicit Session(v1::CompilerService::Stub& stub) : stream_(stub.Session(&context_)) {
    v1::SessionRequest request;
    request.set_protocol_version(kProtocolVersion);
    REQUIRE(stream_->Write(request));
    v1::SessionResponse response;
    REQUIRE(stream_->Read(&response));
    id_ = response.session_id();
    REQUIRE(id_ != 0);
  }
  std::uint64_t id() const { return id_; }
  void release(std::uint64_t lease) {
    v1::SessionRequest request;
    request.add_release_lease_ids(lease);
    REQUIRE(stream_->Write(request));
  }
  grpc::Status end() {
    stream_->WritesDone();
    return stream_->Finish();
  }
  grpc::ClientContext& context() { return context_; }
  grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>& stream() { return *stream_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  std::uint64_t id_ = 0;
};

void wait_for_leases(DaemonFixture& fixture, std::uint64_t count) {
  CHECK(test::eventually([&] { return fixture.stats().leases() == count; }));
}

TEST_CASE("session: leases keep entries from being cleared until released or the session ends") {
  DaemonFixture fixture;
  Session session(fixture);
  v1::PrepareRequest request = test_request({"kernel:a"});
  request.set_session_id(session.id());
  const Answer first = fixture.prepare(request);
  const Answer second = fixture.prepare(request);
  REQUIRE((first.status.ok() && second.status.ok()));
  CHECK((first.result.lease_id() != 0 && second.result.lease_id() != 0));
  CHECK(first.result.lease_id() != second.result.lease_id());
  CHECK((fixture.stats().leases() == 2 && fixture.stats().sessions() == 1));

  const auto clear = [&] {
    grpc::ClientContext context;
    v1::CacheClearResponse response;
    REQUIRE(fixture.admin().CacheClear(&context, {}, &response).ok());
    return response;
  };
  CHECK(clear().kept_leased() > 0);
  CHECK(fixture.prepare(test_request({"kernel:a"})).result.plan_hit());
  session.release(first.result.lease_id());
  wait_for_leases(fixture, 1);
  CHECK(clear().kept_leased() > 0);
  SECTION("the client ends it") { CHECK(session.end().ok()); }
  SECTION("the client disappears") { session.context().TryCancel(); }
  wait_for_leases(fixture, 0);
  CHECK(fixture.stats().sessions() == 0);
  // The lease is gone a moment before its pins are, and a call that has been answered keeps its plan until it is gone.
  std::uint64_t removed = 0;
  CHECK(test::eventually([&] {
    const v1::CacheClearResponse cleared = clear();
    removed += cleared.removed();
    return cleared.kept_leased() == 0;
  }));
  CHECK(removed > 0);
  CHECK_FALSE(fixture.prepare(test_request({"kernel:a"})).result.plan_hit());
}

TEST_CASE("session: another protocol version is refused") {
  DaemonFixture fixture;
  grpc::ClientContext context;
  auto stream = fixture.compiler().Session(&context);
  v1::SessionRequest request;
  request.set_protocol_version(42);
  stream->Write(request);
  v1::SessionResponse response;
  CHECK_FALSE(stream->Read(&response));
  CHECK(stream->Finish().error_code() == grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_CASE("session: 300 open sessions take no thread each and do not hold the drain up") {
  DaemonFixture fixture;
  const auto num_threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  Session one(fixture);
  const auto before = num_threads();
  std::vector<std::unique_ptr<v1::CompilerService::Stub>> stubs;  // a connection has 64 calls at most
  for (int i = 0; i < 10; ++i) stubs.push_back(v1::CompilerService::NewStub(fixture.channel()));
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i < 300; ++i) sessions.push_back(std::make_unique<Session>(*stubs[i % stubs.size()]));
  CHECK(num_threads() < before + 50);
  CHECK(fixture.stats().sessions() == 301);
  CHECK(fixture.daemon().drain());  // false when a session had to be cut off
  v1::SessionResponse response;
  CHECK_FALSE(one.stream().Read(&response));
  CHECK(one.stream().Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
}

// A Prepare that is under way for about one and a half seconds.
class RunningPrepare {
 public:
  explicit RunningPrepare(DaemonFixture& fixture) {
    v1::PrepareRequest request = test_request({"kernel:slower", "kernel:slower2"});
    request.set_want_progress(true);
    stream_ = fixture.compiler().Prepare(&context_, request);
    v1::PrepareEvent event;
    REQUIRE(stream_->Read(&event));
  }
  grpc::Status finish() {
    v1::PrepareEvent event;
    while (stream_->Read(&event)) {
    }
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::PrepareEvent>> stream_;
};

TEST_CASE("drain: running calls finish, new ones are refused") {
  DaemonFixture fixture;
  RunningPrepare running(fixture);
  CHECK(fixture.daemon().drain());
  CHECK(running.finish().ok());
  CHECK(fixture.prepare(test_request({"kernel:x"}), 5s).status.error_code() == grpc::StatusCode::UNAVAILABLE);
}

// grpc.health.v1.Health/Check by hand: field 1 of the reply is the state, 1 SERVING, 2 NOT_SERVING.
int health_state(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + test::give_up());
  grpc::CompletionQueue queue;
  grpc::ByteBuffer reply;
  grpc::Status status;
  const grpc::Slice empty;  // a ByteBuffer without any slice cannot be sent
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::ByteBuffer(&empty, 1), &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  REQUIRE(queue.Next(&tag, &ok));
  INFO(status.error_message());
  REQUIRE(status.ok());
  grpc::Slice slice;
  REQUIRE(reply.DumpToSingleSlice(&slice).ok());
  return slice.size() == 2 && slice.begin()[0] == 8 ? slice.begin()[1] : -2;
}

TEST_CASE("health: serving, then not serving as soon as the drain begins") {
  DaemonFixture fixture;
  const auto channel = fixture.channel();
  CHECK(health_state(channel) == 1);
  RunningPrepare running(fixture);
  std::thread drain([&] { fixture.daemon().drain(); });
  int state = 1;
  REQUIRE(test::eventually([&] { return (state = health_state(channel)) != 1; }));
  CHECK(state == 2);
  CHECK(running.finish().ok());
  drain.join();
}

}  // namespace
}  // namespace hearth::daemon
