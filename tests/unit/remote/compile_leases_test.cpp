// Which of several nodes compiles what none has: mostly one, and never none.
#include "daemon/remote/compile_leases.h"

#include <catch2/catch.hpp>

#include <atomic>

#include "tests/unit/remote/remote_fixture.h"

namespace hearth::daemon {
namespace {

// A node that wants the entry.
struct LeaseNode {
  std::atomic<bool> is_there{false};  // the result, when it looks
  std::atomic<int> looks{0}, waits{0}, ended{0};
  std::atomic<bool> compiles{false};

  CompileLeases::Waiter waiter() {
    return {.look_up =
                [this](const std::function<void(bool)>& then) {
                  ++looks;
                  then(is_there);
                },
            .waits = [this] { ++waits; },
            .ended =
                [this](bool own) {
                  compiles = own;
                  ++ended;
                }};
  }
  void wait_until_ended() {
    REQUIRE(test::eventually([this] { return ended == 1; }));
  }
};

TEST_CASE("the first node compiles, the second waits and takes its result", "[remote]") {
  RemoteFixture f;
  LeaseNode first, second;
  f.remote().lease(f.entry, first.waiter());
  first.wait_until_ended();
  CHECK(first.compiles);
  f.remote().lease(f.entry, second.waiter());
  REQUIRE(test::eventually([&] { return second.waits == 1 && second.looks >= 2; }));
  CHECK(second.ended == 0);
  second.is_there = true;
  second.wait_until_ended();
  CHECK_FALSE(second.compiles);
  CHECK(second.waits == 1);
}

TEST_CASE("of nodes that ask at once one compiles, or few, and none waits for ever", "[remote]") {
  RemoteFixture f;
  std::vector<LeaseNode> nodes(20);
  for (LeaseNode& node : nodes) f.remote().lease(f.entry, node.waiter());
  const auto is_decided = [](const LeaseNode& node) { return node.ended == 1 || node.waits == 1; };
  REQUIRE(test::eventually([&] { return std::ranges::all_of(nodes, is_decided); }));
  CHECK(std::ranges::any_of(nodes, [](const LeaseNode& node) { return node.ended == 1 && node.compiles; }));
  for (LeaseNode& node : nodes) node.is_there = true;
  for (LeaseNode& node : nodes) node.wait_until_ended();
}

TEST_CASE("a lease that stands for two seconds without a result is a dead node's", "[remote]") {
  RemoteFixture f;
  LeaseNode dead, next;
  f.remote().lease(f.entry, dead.waiter());
  dead.wait_until_ended();
  f.remote().lease(f.entry, next.waiter());
  REQUIRE(test::eventually([&] { return next.looks >= 1; }));
  CHECK(next.ended == 0);
  f.clock.advance(CompileLeases::kPatience + std::chrono::milliseconds(1));
  next.wait_until_ended();
  CHECK(next.compiles);
}

TEST_CASE("who takes an old lease over says so, so that others wait for it and do not compile, too", "[remote]") {
  RemoteFixture f;
  LeaseNode dead, next;
  const auto note = [&] {
    const auto results = f.server->results();
    REQUIRE(results.size() == 1);
    return results.begin()->second.stdout_raw();
  };
  f.remote().lease(f.entry, dead.waiter());
  dead.wait_until_ended();
  const std::string before = note();
  f.remote().lease(f.entry, next.waiter());
  REQUIRE(test::eventually([&] { return next.looks >= 1; }));
  f.clock.advance(CompileLeases::kPatience + std::chrono::milliseconds(1));
  next.wait_until_ended();
  CHECK(next.compiles);
  CHECK(note() != before);
}

TEST_CASE("a server that stalls is not waited for", "[remote]") {
  RemoteFixture f;
  LeaseNode first, waiting, stalled;
  f.remote().lease(f.entry, first.waiter());
  first.wait_until_ended();
  f.remote().lease(f.entry, waiting.waiter());
  REQUIRE(test::eventually([&] { return waiting.waits == 1; }));
  f.server->hold();
  f.remote().lease(f.entry, stalled.waiter());
  stalled.wait_until_ended();
  CHECK(stalled.compiles);
  f.clock.advance(CompileLeases::kPatience + std::chrono::milliseconds(1));
  waiting.wait_until_ended();
  CHECK(waiting.compiles);
}

TEST_CASE("a lease of long ago, of another clock, or of nonsense is none", "[remote]") {
  RemoteFixture f;
  LeaseNode first;
  f.remote().lease(f.entry, first.waiter());
  first.wait_until_ended();
  auto results = f.server->results();
  REQUIRE(results.size() == 1);
  test::api::ActionResult lease = results.begin()->second;
  std::string& note = *lease.mutable_stdout_raw();
  REQUIRE(note.size() == 24);
  SECTION("long ago") { note.replace(16, 8, 8, '\0'); }
  SECTION("another clock") { note[20] = '\x7f'; }
  SECTION("nonsense") { note = "?"; }
  SECTION("empty") { note.clear(); }
  f.server->set_result(results.begin()->first, lease);
  LeaseNode next;
  f.remote().lease(f.entry, next.waiter());
  next.wait_until_ended();
  CHECK(next.compiles);
  CHECK(next.waits == 0);
}

TEST_CASE("where leases cannot be kept, each node compiles", "[remote]") {
  RemoteFixture f;
  LeaseNode node;
  SECTION("a server that only reads") {
    f.server->on_update = [] { return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no"); };
  }
  SECTION("a note of many bytes") {
    LeaseNode first;
    f.remote().lease(f.entry, first.waiter());
    first.wait_until_ended();
    f.server->on_result = [](test::api::ActionResult& result) {
      result.set_stdout_raw(std::string(1000, 'n'));
      return grpc::Status::OK;
    };
  }
  SECTION("no server") { f.server.reset(); }
  f.remote().lease(f.entry, node.waiter());
  node.wait_until_ended();
  CHECK(node.compiles);
}

TEST_CASE("a node that leaves waits for no other one", "[remote]") {
  RemoteFixture f;
  LeaseNode first, waiting, late;
  f.remote().lease(f.entry, first.waiter());
  first.wait_until_ended();
  f.remote().lease(f.entry, waiting.waiter());
  REQUIRE(test::eventually([&] { return waiting.waits == 1; }));
  f.remote().end();
  CHECK((waiting.ended == 1 && waiting.compiles));
  f.remote().lease(f.entry, late.waiter());
  CHECK((late.ended == 1 && late.compiles));
  f.cache.reset();
}

}  // namespace
}  // namespace hearth::daemon
