// A cache beyond the node: results come whole, verified and in two calls, or are a miss that is counted by its reason.
#include "daemon/remote/remote_cache.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/unit/remote/remote_fixture.h"

namespace hearth::daemon {
namespace {

using Calls = std::vector<std::string>;

TEST_CASE("A result that a trusted writer sent is found by another node in two calls", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  CHECK(f.server->calls() == Calls{"BatchUpdateBlobs", "UpdateActionResult"});
  const std::size_t before = f.server->calls().size();
  f.cache.reset();
  f.settings.writer_key_file.clear();  // a reader
  RemoteAnswer answer = f.fetch(f.entry);
  CHECK(answer.outcome == RemoteOutcome::kHit);
  CHECK(f.are_equal(answer.files, f.some_files()));
  const Calls calls = f.server->calls();
  CHECK(Calls(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end()) ==
        Calls{"GetActionResult", "BatchReadBlobs"});
  CHECK(f.count(RemoteOutcome::kHit) == 1);
}

TEST_CASE("The address of an entry is made of its domain, key, flavour and salt", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  EntryKey other = f.entry;
  SECTION("domain") { other.domain = "hearth.kernel.v3"; }
  SECTION("key") { other.key = sha256("another graph"); }
  SECTION("flavour") { other.flavour = sha256("another worker"); }
  SECTION("salt") { other.salt = "another fleet"; }
  CHECK(f.fetch(other).outcome == RemoteOutcome::kMiss);
  CHECK(f.count(RemoteOutcome::kMiss) == 1);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kHit);
}

TEST_CASE("The address of an entry is the same on every node and in every release", "[remote]") {
  const EntryKey entry{"hearth.plan.v3", sha256("k"), "plan", "s", sha256("f"), "build"};
  const EntryAddress address = address_of(entry);
  test::api::Command command;
  REQUIRE(command.ParseFromString(address.command));
  CHECK(std::vector<std::string>(command.arguments().begin(), command.arguments().end()) ==
        std::vector<std::string>{"hearth-entry", "hearth.plan.v3", to_hex(sha256("k")), to_hex(sha256("f"))});
  test::api::Action action;
  REQUIRE(action.ParseFromString(address.action));
  CHECK(action.command_digest().hash() == to_hex(sha256(address.command)));
  CHECK(action.command_digest().size_bytes() == static_cast<std::int64_t>(address.command.size()));
  CHECK(action.input_root_digest().hash() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(action.salt() == "s");
  // By protobuf's encoding, written down field by field in Python.
  CHECK(to_hex(sha256(address.action)) == "de0ee6b63c3e074e2da8ad09bec999326e8cbaa83e062bf08bfcecf722eb2ce9");
}

TEST_CASE("Every call says who makes it", "[remote]") {
  RemoteFixture f;
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  test::api::RequestMetadata metadata;
  REQUIRE(metadata.ParseFromString(f.server->metadata("build.bazel.remote.execution.v2.requestmetadata-bin")));
  CHECK(metadata.tool_details().tool_name() == "hearthd");
  CHECK(metadata.action_id() == to_hex(sha256(address_of(f.entry).action)));
  CHECK(metadata.tool_invocation_id().size() == 32);
}

TEST_CASE("Files larger than a batch travel by ByteStream, and come whole", "[remote]") {
  RemoteFixture f;
  std::string large(9 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::vector<RemoteFile> files{
      {"blob", large}, {"records", "r"}, {"medium", std::string(3 << 20, 'm')}, {"second", std::string(2 << 20, 's')}};
  f.publish(f.entry, files);
  RemoteAnswer answer = f.fetch(f.entry);
  CHECK(answer.outcome == RemoteOutcome::kHit);
  CHECK(f.are_equal(answer.files, files));
  CHECK(f.server->count("Write") == 1);
  CHECK(f.server->count("Read") == 1);
}

TEST_CASE("What a server announces of its batches is heeded, and nonsense is not", "[remote]") {
  RemoteFixture f;
  const std::int64_t announced = GENERATE(0, -5, 1 << 20, std::int64_t{1} << 40);
  f.server->on_capabilities = [=](test::api::ServerCapabilities& answer) {
    answer.mutable_cache_capabilities()->set_max_batch_total_size_bytes(announced);
    return grpc::Status::OK;
  };
  RemoteServer server(f.settings.addresses[0], f.settings, f.clock, 1);
  server.begin();
  const std::uint64_t expected = announced == 1 << 20 ? (1 << 20) - (64 << 10) : (4 << 20) - (64 << 10);
  REQUIRE(test::eventually([&] { return f.server->count("GetCapabilities") == 1; }));
  CHECK(test::eventually([&] { return server.abilities().batch_bytes == expected; }));
}

TEST_CASE("A server of another digest function is not asked", "[remote]") {
  RemoteFixture f;
  f.server->on_capabilities = [](test::api::ServerCapabilities& answer) {
    answer.mutable_cache_capabilities()->clear_digest_functions();
    answer.mutable_cache_capabilities()->add_digest_functions(9);
    return grpc::Status::OK;
  };
  f.remote().begin();
  REQUIRE(test::eventually([&] { return !f.remote().is_asked(); }));
  CHECK(std::string(f.remote().health().message()).find("no blobs by SHA-256") != std::string::npos);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  CHECK(f.server->count("GetActionResult") == 0);
}

TEST_CASE("A result whose files are gone is incomplete, and can be sent again", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  f.server->remove_blobs();
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kIncomplete);
  CHECK(f.count(RemoteOutcome::kIncomplete) == 1);
  f.publish(f.entry, f.some_files());
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kHit);
}

TEST_CASE("Without a writer key nothing is sent", "[remote]") {
  RemoteFixture f;
  f.settings.writer_key_file.clear();
  f.remote().publish(f.entry, f.some_files());
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  CHECK(f.server->calls() == Calls{"GetActionResult"});
}

TEST_CASE("A writer key that others can read is not used, and that is said", "[remote]") {
  RemoteFixture f;
  std::filesystem::permissions(f.settings.writer_key_file, std::filesystem::perms(0640));
  CHECK_FALSE(f.remote().is_writer());
  CHECK(std::string(f.remote().health().message()).find("chmod 600") != std::string::npos);
  f.remote().publish(f.entry, f.some_files());
  CHECK(f.server->calls().empty());
}

TEST_CASE("A server that takes no results is read all the same, and is sent one alone", "[remote]") {
  RemoteFixture f;
  f.server->on_update = [] { return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "Updating cache not allowed"); };
  for (int i = 0; i < 3; ++i) {
    f.remote().publish(f.entry, f.some_files());
    const auto done = [&] {
      const UploadCounters uploads = f.remote().counters().uploads;
      return uploads.failed + uploads.dropped == static_cast<std::uint64_t>(i + 1);
    };
    REQUIRE(test::eventually(done));
  }
  CHECK(f.server->count("UpdateActionResult") == 1);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  CHECK(std::string(f.remote().health().message()).find("Updating cache not allowed") != std::string::npos);
}

TEST_CASE("Three failures end the asking, and an answer to a probe begins it again", "[remote]") {
  RemoteFixture f;
  f.server->on_result = [](test::api::ActionResult&) { return grpc::Status(grpc::StatusCode::INTERNAL, "x\033[2J"); };
  f.publish(f.entry, f.some_files());
  for (int i = 0; i < 3; ++i) CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  CHECK_FALSE(f.remote().is_asked());
  CHECK(f.remote().health().message().find('\033') == absl::string_view::npos);
  const std::uint64_t calls = f.server->calls().size();
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  f.remote().maintain();
  CHECK(f.server->calls().size() == calls);
  f.server->on_result = nullptr;
  f.clock.advance(std::chrono::seconds(3));
  f.remote().maintain();
  REQUIRE(test::eventually([&] { return f.remote().is_asked(); }));
  CHECK(f.remote().health().ok());
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kHit);
  CHECK(f.remote().counters().breaker_openings == 1);
}

TEST_CASE("One refusal of who asks ends the asking", "[remote]") {
  RemoteFixture f;
  const auto code = GENERATE(grpc::StatusCode::UNAUTHENTICATED, grpc::StatusCode::PERMISSION_DENIED,
                             grpc::StatusCode::INVALID_ARGUMENT);
  f.server->on_call = [=](const grpc::ServerContext&) { return grpc::Status(code, "no"); };
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  CHECK_FALSE(f.remote().is_asked());
  CHECK_FALSE(f.remote().health().ok());
}

TEST_CASE("A server that does not answer within a call's limit is late", "[remote]") {
  RemoteFixture f;
  f.settings.call_limit = std::chrono::milliseconds(50);
  f.server->hold();
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kLate);
  CHECK(f.count(RemoteOutcome::kLate) == 1);
}

TEST_CASE("A look-up that is cancelled ends at once, late, and sends nothing more", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  f.server->hold();
  std::promise<RemoteOutcome> outcome;
  const auto fetch =
      f.remote().fetch(f.entry, f.kMostBytes, [&](const RemoteAnswer& answer) { outcome.set_value(answer.outcome); });
  REQUIRE(test::eventually([&] { return f.server->held() == 1; }));
  fetch->cancel();
  CHECK(outcome.get_future().get() == RemoteOutcome::kLate);
  f.server->release();
  REQUIRE(test::eventually([&] { return f.server->held() == 0; }));
  f.cache.reset();
  CHECK(f.server->count("BatchReadBlobs") == 0);
}

TEST_CASE("A server that is silent while work is done here is not asked for ever", "[remote]") {
  RemoteFixture f;
  f.server->hold();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(f.remote().is_asked());
    const auto fetch = f.remote().fetch(f.entry, f.kMostBytes, [](const RemoteAnswer&) {});
    f.clock.advance(AnswerTimes::kMostHeadStart + std::chrono::milliseconds(1));
    fetch->cancel();
  }
  CHECK_FALSE(f.remote().is_asked());
}

TEST_CASE("A cache that goes while look-ups and uploads are under way waits for none of them", "[remote]") {
  RemoteFixture f;
  f.server->hold();
  std::atomic<int> ended{0};
  for (int i = 0; i < 20; ++i) {
    EntryKey key = f.entry;
    key.key = sha256(std::to_string(i));
    f.remote().fetch(key, f.kMostBytes, [&](const RemoteAnswer&) { ++ended; });
    f.remote().publish(key, f.some_files());
  }
  f.cache.reset();
  CHECK(ended == 20);
}

TEST_CASE("A server that is gone costs an error, not a wait", "[remote]") {
  RemoteFixture f;
  f.server.reset();
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
}

TEST_CASE("Where the first server is gone, the second one is asked", "[remote]") {
  RemoteFixture f;
  const std::string second = f.dir / "t";
  test::RemoteCacheServer other("unix:" + second);
  f.settings.addresses.push_back(*parse_remote_address("unix:" + second));
  f.publish(f.entry, f.some_files());
  for (const auto& [hash, bytes] : f.server->blobs()) other.put_blob(bytes);
  for (const auto& [hash, result] : f.server->results()) other.set_result(hash, result);
  f.server.reset();
  for (int i = 0; i < 3; ++i) CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kHit);
}

TEST_CASE("A second server ends the stall of the first for few calls alone", "[remote]") {
  RemoteFixture f;
  const std::string second = f.dir / "t";
  test::RemoteCacheServer other("unix:" + second);
  f.settings.addresses.push_back(*parse_remote_address("unix:" + second));
  for (int i = 0; i < 19; ++i) CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);
  CHECK(other.calls().empty());
  f.server->hold();
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kMiss);  // the 20th
  CHECK(other.count("GetActionResult") == 1);
  CHECK(f.remote().counters().hedges == 1);
  std::atomic<bool> answered{false};
  const auto fetch = f.remote().fetch(f.entry, f.kMostBytes, [&](const RemoteAnswer&) { answered = true; });
  REQUIRE(test::eventually([&] { return f.server->held() >= 1; }));
  fetch->cancel();
  CHECK(answered);
  CHECK(other.count("GetActionResult") == 1);
}

TEST_CASE("Results that wait to be sent take bounded memory, and the rest is dropped and counted", "[remote]") {
  RemoteFixture f;
  f.server->hold();
  const std::vector<RemoteFile> files{{"blob", std::string(3 << 20, 'b')}};
  constexpr int kMany = 40;
  for (int i = 0; i < kMany; ++i) {
    EntryKey key = f.entry;
    key.key = sha256(std::to_string(i));
    f.remote().publish(key, files);
  }
  const std::uint64_t dropped = f.remote().counters().uploads.dropped;
  CHECK(dropped >= kMany - 1 - UploadQueue::kMaxBytes / (3 << 20));
  f.server->release();
  REQUIRE(test::eventually([&] { return f.remote().counters().uploads.sent == kMany - dropped; }));
}

}  // namespace
}  // namespace hearth::daemon
