// CompileBlob against the fake compiler: what hits, what misses, who shares, what is refused.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "base/file_stamp.h"
#include "base/sha256.h"
#include "tests/support/eventually.h"
#include "tests/unit/daemon/blob_fixture.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

TEST_CASE("blob: a miss compiles, a hit does not, a restart still hits") {
  BlobFixture fixture;
  v1::CompileBlobRequest request = fixture.request("x");
  request.set_want_progress(true);
  const BlobReply miss = fixture.compile(request);
  INFO(miss.status.error_message());
  REQUIRE(miss.status.ok());
  CHECK(miss.text() == "x:include a.h\ninclude deep/b.hA1 B1 ");
  CHECK(miss.result.artifact().digest() == to_bytes(sha256(miss.text())));
  CHECK(miss.result.artifact().size() == miss.text().size());
  CHECK((!miss.result.hit() && !miss.result.joined() && miss.result.key().size() == 32));
  CHECK((miss.result.compile_seconds() == 0.25 && miss.result.log() == "a warning"));
  REQUIRE(miss.progress.size() == 2);
  CHECK(miss.progress[0].state() == v1::BlobProgress::QUEUED);
  CHECK(miss.progress[1].state() == v1::BlobProgress::COMPILING);

  const BlobReply hit = fixture.compile(request);
  REQUIRE(hit.status.ok());
  CHECK((hit.result.hit() && hit.result.log().empty() && hit.result.compile_seconds() == 0));
  CHECK(hit.result.artifact().path() == miss.result.artifact().path());
  CHECK(hit.result.key() == miss.result.key());
  fixture.check_identity(2);
  fixture.daemon().stop();
  fixture.daemon().start();
  CHECK(fixture.compile("x").result.hit());
  CHECK(fixture.check_identity(1).blobs_compiled() == 0);
}

TEST_CASE("blob: everything it is made of is in its key") {
  BlobFixture fixture;
  REQUIRE_FALSE(fixture.compile("x").result.hit());
  REQUIRE(fixture.compile("x").result.hit());
  struct Change {
    const char* what;
    std::function<void(v1::BlobSpec&)> apply;
  };
  const std::vector<Change> changes = {
      {"flags", [](v1::BlobSpec& spec) { spec.add_flags("-DX"); }},
      {"order of flags", [](v1::BlobSpec& spec) { spec.mutable_flags()->SwapElements(0, 1); }},
      {"archs", [](v1::BlobSpec& spec) { spec.add_archs("gfx942"); }},
      {"exports", [](v1::BlobSpec& spec) { spec.add_exports("_Z1f"); }},
      {"toolchain", [](v1::BlobSpec& spec) { spec.set_toolchain("hip"); }},
      {"glue", [](v1::BlobSpec& spec) { spec.set_glue("int y;"); }},
      {"compiler", [&](v1::BlobSpec&) { fixture.write("compiler", "compiler 2"); }},
      {"source", [&](v1::BlobSpec&) { fixture.write("root/src/x.cpp", "include a.h"); }},
      {"header", [&](v1::BlobSpec&) { fixture.write("root/second/a.h", "A2 "); }},
  };
  std::uint64_t compiled = 1;
  for (const Change& change : changes) {
    INFO(change.what);
    v1::CompileBlobRequest request = fixture.request("x");
    change.apply(*request.mutable_blob());
    const BlobReply miss = fixture.compile(request);
    INFO(miss.status.error_message());
    CHECK((miss.status.ok() && !miss.result.hit()));
    CHECK(fixture.compile(request).result.hit());
    CHECK(fixture.daemon().stats().blobs_compiled() == ++compiled);
  }
}

TEST_CASE("blob: a touched header compiles what includes it and nothing else; to and fro, both hit") {
  BlobFixture fixture;
  const std::string with = "include a.h", without = "include deep/b.h";
  for (int i = 0; i < 4; ++i) {
    REQUIRE(fixture.compile(fixture.request("with" + std::to_string(i), with)).status.ok());
    REQUIRE(fixture.compile(fixture.request("without" + std::to_string(i), without)).status.ok());
  }
  const std::string before = fixture.compile("with0").text();
  fixture.write("root/second/a.h", "A2 ");
  for (int i = 0; i < 4; ++i) {
    const BlobReply changed = fixture.compile("with" + std::to_string(i));
    CHECK((!changed.result.hit() && changed.text().find("A2") != std::string::npos));
    CHECK(fixture.compile("without" + std::to_string(i)).result.hit());
  }
  CHECK(fixture.daemon().stats().blobs_compiled() == 12);
  fixture.write("root/second/a.h", "A1 ");
  CHECK((fixture.compile("with0").result.hit() && fixture.compile("with0").text() == before));
  fixture.write("root/second/a.h", "A2 ");
  CHECK((fixture.compile("with0").result.hit() && fixture.compile("with0").text() != before));
  // Only its time: the same bytes.
  std::filesystem::last_write_time(fixture.path("root/second/a.h"), std::filesystem::file_time_type::clock::now() + 1h);
  CHECK(fixture.compile("with0").result.hit());
  CHECK(fixture.daemon().stats().blobs_compiled() == 12);
}

TEST_CASE("blob: a header that appears earlier on the include path is taken") {
  BlobFixture fixture;
  fixture.write("root/first/deep/other.h", "");
  REQUIRE(fixture.compile("x").text().find("B1") != std::string::npos);
  REQUIRE(fixture.compile("x").result.hit());
  fixture.write("root/first/unrelated.h", "");
  CHECK(fixture.compile("x").result.hit());
  fixture.write("root/first/deep/b.h", "B0 ");
  const BlobReply shadowed = fixture.compile("x");
  CHECK((!shadowed.result.hit() && shadowed.text().find("B0") != std::string::npos));
  CHECK(fixture.compile("x").result.hit());
  std::filesystem::remove(fixture.path("root/first/deep/b.h"));
  const BlobReply back = fixture.compile("x");
  CHECK((back.result.hit() && back.text().find("B1") != std::string::npos));
}

TEST_CASE("blob: files that have been the same for long are remembered, and noticed when they change") {
  BlobFixture fixture;
  fixture.request("x");
  // Younger files are looked at every time.
  const auto settle = [&] {
    for (const char* name : {"root/src/x.cpp", "root/second/a.h", "root/second/deep/b.h", "root/second/deep"})
      CHECK(test::eventually([&] { return files::is_settled(*files::stamp_of(fixture.path(name))); }));
  };
  settle();
  REQUIRE(fixture.compile("x").status.ok());
  for (int i = 0; i < 3; ++i) CHECK(fixture.compile("x").result.hit());
  fixture.write("root/second/deep/b.h", "B2 ");
  CHECK(fixture.compile("x").text().find("B2") != std::string::npos);
  fixture.write("root/second/deep/b.h", "B1 ");
  settle();
  for (int i = 0; i < 2; ++i) CHECK(fixture.compile("x").result.hit());
  fixture.write("root/first/a.h", "A0 ");
  CHECK(fixture.compile("x").text().find("A0") != std::string::npos);
  CHECK(fixture.check_identity(8).blobs_compiled() == 3);
}

TEST_CASE("blob: a moved installation hits") {
  BlobFixture fixture;
  const BlobReply first = fixture.compile("x");
  v1::CompileBlobRequest request = fixture.request("x");
  std::filesystem::rename(fixture.path("root"), fixture.path("elsewhere"));
  request.mutable_blob()->set_root(fixture.path("elsewhere"));
  const BlobReply moved = fixture.compile(request);
  CHECK((moved.status.ok() && moved.result.hit() && moved.result.key() == first.result.key()));
  // A copy with another header is another blob.
  std::filesystem::copy(fixture.path("elsewhere"), fixture.path("root"), std::filesystem::copy_options::recursive);
  fixture.write("root/second/a.h", "A9 ");
  CHECK(fixture.compile("x").text().find("A9") != std::string::npos);
  CHECK(fixture.compile(request).text() == first.text());
}

TEST_CASE("blob: what changed while it was compiled is served and not kept") {
  BlobFixture fixture;
  for (int i = 0; i < 2; ++i) {
    const BlobReply reply = fixture.compile("changing");
    CHECK((reply.status.ok() && !reply.result.hit() && reply.text().find("A1") != std::string::npos));
  }
  CHECK(fixture.check_identity(2).blobs_compiled() == 2);
}

TEST_CASE("blob: many callers of the same blobs share the compiles") {
  constexpr int kCallers = 24, kBlobs = 4;
  BlobFixture fixture;
  for (int i = 0; i < kBlobs; ++i) fixture.request("slow" + std::to_string(i));  // writes the sources
  std::vector<std::future<int>> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.push_back(std::async(std::launch::async, [&, c] {
      auto stub = v1::CompilerService::NewStub(fixture.daemon().channel());
      int right = 0;
      for (int i = 0; i < kBlobs; ++i) {
        const std::string stem = "slow" + std::to_string((i + c) % kBlobs);
        grpc::ClientContext context;
        const BlobReply reply = BlobFixture::compile(fixture.request(stem), *stub, context);
        right += reply.status.ok() && reply.text().starts_with(stem + ":") ? 1 : 0;
      }
      return right;
    }));
  }
  for (auto& caller : callers) CHECK(caller.get() == kBlobs);
  const v1::StatsResponse stats = fixture.check_identity(kCallers * kBlobs);
  CHECK((stats.blobs_compiled() == kBlobs && stats.blob_misses() == kBlobs && stats.blob_errors() == 0));
  CHECK(stats.blob_joined() > 0);
}

TEST_CASE("blob: only_if_cached compiles nothing") {
  BlobFixture fixture;
  v1::CompileBlobRequest request = fixture.request("x");
  request.set_only_if_cached(true);
  const BlobReply none = fixture.compile(request);
  CHECK(none.status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(none.status.error_message().find("blob 'x' is not in the cache") != std::string::npos);
  REQUIRE(fixture.compile("x").status.ok());
  CHECK(fixture.compile(request).result.hit());
  const v1::StatsResponse stats = fixture.check_identity(3);
  CHECK(stats.blobs_compiled() == 1);
  // An answer, though a "no": nothing went wrong.
  CHECK((stats.blob_errors() == 0 && stats.blob_misses() == 2));
}

TEST_CASE("blob: bad requests are refused by name") {
  BlobFixture fixture;
  struct Bad {
    const char* says;
    std::function<void(v1::CompileBlobRequest&)> spoil;
    grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  };
  const auto spec = [](v1::CompileBlobRequest& request) { return request.mutable_blob(); };
  const std::vector<Bad> rows = {
      {"protocol version 77", [](auto& r) { r.set_protocol_version(77); }, grpc::StatusCode::FAILED_PRECONDITION},
      {"no stem", [&](auto& r) { spec(r)->clear_stem(); }},
      {"no file name", [&](auto& r) { spec(r)->set_stem("../x"); }},
      {"no file name", [&](auto& r) { spec(r)->set_stem(std::string(300, 'x')); }},
      {"toolchain 'nvcc' is not known", [&](auto& r) { spec(r)->set_toolchain("nvcc"); }},
      {"root 'root' is not an absolute path", [&](auto& r) { spec(r)->set_root("root"); }},
      {"source '/etc/passwd' is not a path below", [&](auto& r) { spec(r)->set_source("/etc/passwd"); }},
      {"source 'a/../../b' is not a path below", [&](auto& r) { spec(r)->set_source("a/../../b"); }},
      {"src/none.cpp: No such file", [&](auto& r) { spec(r)->set_source("src/none.cpp"); }},
      {"is not a regular file", [&](auto& r) { spec(r)->set_source("src"); }},
      {"CK_JIT_ROOT", [&](auto& r) { spec(r)->set_root("/nowhere"); }},
      {"NUL", [&](auto& r) { spec(r)->add_flags(std::string("-DX\0", 4)); }},
      {"too many", [&](auto& r) { spec(r)->set_glue(std::string(5u << 20, 'x')); }},
  };
  for (const Bad& bad : rows) {
    INFO(bad.says);
    v1::CompileBlobRequest request = fixture.request("x");
    bad.spoil(request);
    const BlobReply reply = fixture.compile(request);
    INFO(reply.status.error_message());
    CHECK(reply.status.error_code() == bad.code);
    CHECK(reply.status.error_message().find(bad.says) != std::string::npos);
  }
  const v1::StatsResponse stats = fixture.check_identity(rows.size());
  CHECK((stats.blob_errors() == rows.size() && stats.blobs_compiled() == 0));
}

TEST_CASE("blob: an absent compiler is said so, and found once it is there") {
  BlobFixture fixture;
  std::filesystem::remove(fixture.path("compiler"));
  const BlobReply none = fixture.compile("x");
  CHECK(none.status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(none.status.error_message().find("no compiler of c++") != std::string::npos);
  fixture.write("compiler", "compiler 1");
  CHECK(fixture.compile("x").status.ok());
}

TEST_CASE("blob: remove takes out the blobs named, or all") {
  BlobFixture fixture;
  for (const char* stem : {"x", "y", "z"}) REQUIRE(fixture.compile(stem).status.ok());
  const auto remove = [&](const v1::RemoveBlobsRequest& request) {
    grpc::ClientContext context;
    v1::RemoveBlobsResponse response;
    REQUIRE(fixture.daemon().admin().RemoveBlobs(&context, request, &response).ok());
    return response.removed();
  };
  v1::RemoveBlobsRequest two;
  two.add_stems("x");
  two.add_stems("unknown");
  CHECK(remove(two) == 1);  // the blob, which is two entries
  CHECK_FALSE(fixture.compile("x").result.hit());
  CHECK(fixture.compile("y").result.hit());
  v1::RemoveBlobsRequest all;
  all.set_all(true);
  // What an answer under way still holds stays: the calls above may not be over on the daemon's side.
  std::uint64_t removed = 0;
  CHECK(test::eventually([&] { return (removed += remove(all)) >= 3; }));
  CHECK(removed == 3);
  CHECK_FALSE(fixture.compile("z").result.hit());
  grpc::ClientContext context;
  v1::CacheListResponse list;
  REQUIRE(fixture.daemon().admin().CacheList(&context, {}, &list).ok());
  REQUIRE(list.entries_size() == 2);
  CHECK((list.entries(0).kind() == "records" && list.entries(1).kind() == "blob"));
}

}  // namespace
}  // namespace hearth::daemon
