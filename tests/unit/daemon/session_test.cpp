#include <thread>

#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

// An open Session stream.
class Session {
 public:
  explicit Session(DaemonFixture& fixture) : stream_(fixture.compiler().Session(&context_)) {
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
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (fixture.stats().leases() != count && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(5ms);
  }
  CHECK(fixture.stats().leases() == count);
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
  const v1::CacheClearResponse cleared = clear();
  CHECK((cleared.kept_leased() == 0 && cleared.removed() > 0));
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
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 300; ++i) sessions.push_back(std::make_unique<Session>(fixture));
  CHECK(num_threads() < before + 50);
  CHECK(fixture.stats().sessions() == 301);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(fixture.daemon().drain());
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
  v1::SessionResponse response;
  CHECK_FALSE(one.stream().Read(&response));
  CHECK(one.stream().Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("drain: running calls finish, new ones are refused") {
  DaemonFixture fixture;
  Answer running;
  std::thread caller([&] { running = fixture.prepare(test_request({"kernel:slow", "kernel:slow2"})); });
  std::this_thread::sleep_for(100ms);
  CHECK(fixture.daemon().drain());
  caller.join();
  CHECK(running.status.ok());
  CHECK(fixture.prepare(test_request({"kernel:x"}), 5s).status.error_code() == grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace hearth::daemon
