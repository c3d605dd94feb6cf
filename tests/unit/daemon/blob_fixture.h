// A daemon whose blob workers have the fake compiler of fake_worker.cpp, and a folder of sources for it.
#pragma once
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "proto/versions.h"
#include "tests/support/eventually.h"
#include "tests/unit/daemon/daemon_fixture.h"

namespace hearth::daemon {

struct BlobReply {
  grpc::Status status;
  v1::BlobResult result;
  std::vector<v1::BlobProgress> progress;

  // The blob's bytes, of the file the daemon names.
  std::string text() const {
    std::ifstream file(result.artifact().path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
};

class BlobFixture {
 public:
  explicit BlobFixture(std::function<void(Config&)> change = nullptr) : compiler_(sources_ / "compiler") {
    write("compiler", "compiler 1");
    write("root/first/README", "");
    write("root/second/a.h", "A1 ");
    write("root/second/deep/b.h", "B1 ");
    ::setenv("HEARTH_BLOB_CXX", compiler_.c_str(), 1);
    daemon_ = std::make_unique<DaemonFixture>([&](Config& config) {
      config.blob_worker = program("hearth-fake-worker");
      config.blob_workers = 2;
      config.blob_compile_limit_ms = 60'000;
      if (change) change(config);
    });
  }
  ~BlobFixture() { ::unsetenv("HEARTH_BLOB_CXX"); }

  // A path below this fixture's folder; folders are made.
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = sources_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    return path;
  }
  std::string path(const std::string& name) const { return sources_ / name; }

  // Its source is root/src/STEM.cpp, written here unless it is there.
  v1::CompileBlobRequest request(const std::string& stem, const std::string& source = "include a.h\ninclude deep/b.h") {
    if (!std::filesystem::exists(path("root/src/" + stem + ".cpp"))) write("root/src/" + stem + ".cpp", source);
    v1::CompileBlobRequest request;
    request.set_protocol_version(kProtocolVersion);
    v1::BlobSpec& spec = *request.mutable_blob();
    spec.set_stem(stem);
    spec.set_toolchain("c++");
    spec.set_root(path("root"));
    spec.set_source("src/" + stem + ".cpp");
    spec.add_flags("-I{root}/first");
    spec.add_flags("-I{root}/second");
    return request;
  }

  BlobReply compile(const v1::CompileBlobRequest& request, std::chrono::milliseconds deadline = test::give_up()) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    return compile(request, daemon_->compiler(), context);
  }
  BlobReply compile(const std::string& stem) { return compile(request(stem)); }
  // `on_progress` runs at every progress event.
  static BlobReply compile(const v1::CompileBlobRequest& request, v1::CompilerService::Stub& stub,
                           grpc::ClientContext& context,
                           const std::function<void(const v1::BlobProgress&)>& on_progress = nullptr) {
    BlobReply reply;
    auto stream = stub.CompileBlob(&context, request);
    v1::CompileBlobEvent event;
    while (stream->Read(&event)) {
      if (event.has_progress()) reply.progress.push_back(event.progress());
      if (event.has_progress() && on_progress) on_progress(event.progress());
      if (event.has_result()) reply.result = event.result();
    }
    reply.status = stream->Finish();
    return reply;
  }

  // Every CompileBlob that arrived is exactly one of these, once its call is gone.
  v1::StatsResponse check_identity(std::uint64_t requests) {
    v1::StatsResponse now;
    CHECK(test::eventually([&] { return (now = daemon_->stats()).blob_requests_in_flight() == 0; }));
    CHECK(now.blob_requests() == requests);
    CHECK(now.blob_requests() == now.blob_hits() + now.blob_misses() + now.blob_joined() + now.blob_errors());
    return now;
  }

  DaemonFixture& daemon() { return *daemon_; }

 private:
  TestFolder sources_;
  const std::string compiler_;
  std::unique_ptr<DaemonFixture> daemon_;
};

}  // namespace hearth::daemon
