// Clients that ask for more memory than is theirs, and clients that do not read what they asked for.
#include <absl/strings/match.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <thread>

#include "daemon/serve/message_bytes.h"
#include "daemon/worker_pool/worker_usage.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}

// One call with these bytes for a request, to its end.
grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& bytes) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer answer;
  grpc::Status status;
  auto reader = stub.PrepareUnaryCall(&context, method, request, &queue);
  reader->StartCall();
  reader->Finish(&answer, &status, &queue);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

std::string of_empty_nodes(std::size_t count) {
  std::string nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.append("\x1a\0", 2);
  return "\x08\x01\x12" + varint(nodes.size()) + nodes;
}

std::size_t num_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace

TEST_CASE("hostile calls: a request that would take gigabytes is refused by the field that does, before it is parsed") {
  DaemonFixture fixture;
  const std::string request = of_empty_nodes(10'000'000);
  const auto channel = fixture.channel();
  const std::uint64_t before = resident_bytes(::getpid());
  for (const char* method : {"/hearth.v1.CompilerService/Prepare", "/hearth.v1.CompilerService/Explain",
                             "/hearth.v1.CompilerService/Tune"}) {
    const grpc::Status status = call(channel, method, request);
    INFO(method << ": " << status.error_message());
    CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
    CHECK(absl::StrContains(status.error_message(), "10000000 of hearth.v1.Graph.nodes"));
    CHECK(absl::StrContains(status.error_message(), "rpc_memory"));
  }
  CHECK(resident_bytes(::getpid()) < before + (400u << 20));  // parsed, it is 1.5 GB
  CHECK(fixture.prepare(test_request({"kernel:a"})).status.ok());
}

TEST_CASE("hostile calls: no message takes more than is charged for small ones that are not measured") {
  const auto check = [](const auto& self, const google::protobuf::Descriptor& type, int depth) -> void {
    const google::protobuf::Message* prototype =
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
    // As the element of a list it is two bytes on the wire, and a pointer and an allocation in memory.
    INFO(type.full_name());
    CHECK(prototype->SpaceUsedLong() + 32 <= 2 * kMaxPerByte);
    for (int i = 0; i < type.field_count() && depth < 8; ++i)
      if (type.field(i)->message_type() != nullptr) self(self, *type.field(i)->message_type(), depth + 1);
  };
  for (const google::protobuf::Descriptor* type : {v1::PrepareRequest::descriptor(), v1::ExplainRequest::descriptor(),
                                                   v1::TuneRequest::descriptor(), v1::CompileBlobRequest::descriptor()})
    check(check, *type, 0);
}

TEST_CASE("hostile calls: a large request is refused unread where none is needed") {
  DaemonFixture fixture;
  const auto channel = fixture.channel();
  std::string unknown;
  for (int i = 0; i < 1'000'000; ++i) unknown.append("\xf8\x7f\x01", 3);
  for (const char* method : {"/hearth.v1.CompilerService/FetchArtifact", "/hearth.v1.AdminService/Stats",
                             "/hearth.v1.AdminService/CacheList", "/hearth.v1.CompilerService/AnswerTiming"}) {
    const grpc::Status status = call(channel, method, unknown);
    INFO(method << ": " << status.error_message());
    CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(absl::StrContains(status.error_message(), "exceeds the limit of 65536"));
  }
  CHECK(call(channel, "/hearth.v1.CompilerService/Prepare", "\xff\xff").error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("hostile calls: requests wait for memory instead of taking it, and all are answered") {
  DaemonFixture fixture([](Config& config) { config.rpc_memory_bytes = 48u << 20; });
  v1::PrepareRequest request = test_request({"kernel:a"});
  request.mutable_graph()->mutable_nodes(0)->set_data(std::string(3 << 20, 'x'));
  REQUIRE(fixture.prepare(request).status.ok());
  std::atomic<int> served{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      auto stub = v1::CompilerService::NewStub(fixture.channel());
      for (int k = 0; k < 3; ++k) {
        grpc::ClientContext context;
        served += DaemonFixture::prepare(request, *stub, context).status.ok();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(served == 24);
}

TEST_CASE("hostile calls: answers that nobody reads take neither descriptors nor more than their memory") {
  DaemonFixture fixture;
  const Answer prepared = fixture.prepare(test_request({"kernel:a"}));
  REQUIRE(prepared.status.ok());
  v1::FetchArtifactRequest fetch;
  fetch.set_digest(prepared.result.artifacts(0).digest());
  // Streams that are started and never read; this one's window lets the first chunk out, so 64 of them hold nothing
  // for long: what is counted is that all end, and that others are served meanwhile.
  std::vector<std::unique_ptr<v1::CompilerService::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::FetchArtifactChunk>>> readers;
  const std::size_t before = num_descriptors();
  for (int connection = 0; connection < 8; ++connection) {
    stubs.push_back(v1::CompilerService::NewStub(fixture.channel()));
    for (int stream = 0; stream < 60; ++stream) {
      contexts.push_back(std::make_unique<grpc::ClientContext>());
      readers.push_back(stubs.back()->FetchArtifact(contexts.back().get(), fetch));
    }
  }
  CHECK(num_descriptors() < before + 150);
  CHECK(fixture.prepare(test_request({"kernel:a"})).result.plan_hit());
  for (auto& context : contexts) context->TryCancel();
  for (auto& reader : readers) reader->Finish();
  CHECK(fixture.daemon().drain());
}

}  // namespace hearth::daemon
