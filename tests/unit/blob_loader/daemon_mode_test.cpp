// Daemon mode: the client library (a stand-in), and when direct mode takes over.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "blob_place.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;
namespace fs = std::filesystem;

namespace {

// A place in auto mode with a client beside the root and a hearth-blobc that works.
struct DaemonPlace : BlobPlace {
  DaemonPlace() {
    unsetenv("CK_JIT_CACHE_DIR");
    set("XDG_CACHE_HOME", folder / "xdg");
    set("HEARTH_BLOB_CLIENT", module("test_blob_client"));
    set("TEST_CLIENT_LOG", folder / "requests");
    compiler_copies("test_blob");
  }
  std::string compiled() const {
    const fs::path path = folder / "from_daemon.so";
    if (!fs::exists(path)) fs::copy_file(module("test_blob"), path);
    return path;
  }
  std::string requests() const { return read_file(folder / "requests"); }
};

}  // namespace

TEST_CASE("the daemon is asked once a blob, with everything it needs") {
  DaemonPlace place;
  BlobPlace::set("TEST_CLIENT_REPLY", reply_of(place.compiled()));
  BlobPlace::set("HEARTH_BLOB_TIMEOUT_S", "7");
  CHECK(BlobPlace::call(place.site(0, 0)) == 42);
  CHECK(reinterpret_cast<GetName>(place.site(0, 1).get())() == "trait one");
  CHECK(place.calls() == 0);
  const nlohmann::json request = nlohmann::json::parse(place.requests());  // one line: one request
  CHECK(request["stem"] == "leaf_one");
  CHECK(request["toolchain"] == "c++");
  CHECK(request["root"] == fs::canonical(place.root).string());
  CHECK(request["source"] == "blob/leaf_one.cpp");
  CHECK(request["flags"] == std::vector<std::string>{"-O3", "-I{root}/include", "-DTEXT=\"a b\""});
  CHECK(request["archs"] == std::vector<std::string>{"gfx942", "gfx90a"});
  CHECK(request["exports"] == std::vector<std::string>{"_Z5leaf_I", "_Z14leaf_get_name_I"});
  CHECK(request["timeout_ms"] == 7000);
}

TEST_CASE("without a daemon auto mode compiles directly, daemon mode says so") {
  DaemonPlace place;
  BlobPlace::set("TEST_CLIENT_REPLY", R"({"code": 14, "message": "no daemon at /run/x.sock"})");
  CHECK(BlobPlace::call(place.site()) == 42);
  CHECK(place.calls() == 1);
  CHECK_THAT(place.arguments(), Contains("--cache-dir|" + (place.folder / "xdg/test_blobs").string() + "|"));
  BlobPlace::set("HEARTH_BLOB_MODE", "daemon");
  const BlobError error = error_of([&] { place.site(1).get(); });
  CHECK(error.code() == 14);
  CHECK_THAT(error.what(), Contains("no daemon at /run/x.sock"));
  CHECK(place.calls() == 1);
}

TEST_CASE("a compile error of the daemon is not tried again directly") {
  DaemonPlace place;
  BlobPlace::set("TEST_CLIENT_REPLY", R"({"code": 9, "message": "leaf.cpp:1: error: bad"})");
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 9);
  CHECK_THAT(error.what(), Contains("leaf.cpp:1: error: bad"));
  CHECK(place.calls() == 0);
}

TEST_CASE("without a client library auto mode compiles directly, daemon mode names it") {
  DaemonPlace place;
  unsetenv("HEARTH_BLOB_CLIENT");
  CHECK(BlobPlace::call(place.site()) == 42);
  CHECK(place.calls() == 1);
  BlobPlace::set("HEARTH_BLOB_MODE", "daemon");
  const BlobError error = error_of([&] { place.site(1).get(); });
  CHECK(error.code() == 14);
  CHECK_THAT(error.what(), Contains("libhearth_blob_client.so"));
}

TEST_CASE("with neither, both are named") {
  DaemonPlace place;
  unsetenv("HEARTH_BLOB_CLIENT");
  fs::remove(place.root / "hearth-blobc");
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 5);
  CHECK_THAT(error.what(), Contains("libhearth_blob_client.so") && Contains("hearth-blobc"));
}

TEST_CASE("a client that is named and cannot be used is an error, not a reason to do something else") {
  DaemonPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  BlobPlace::set("HEARTH_BLOB_CLIENT", place.folder / "none.so");
  CHECK(error_of([&] { place.site().get(); }).code() == 5);
  BlobPlace::set("HEARTH_BLOB_CLIENT", module("test_blob"));
  CHECK_THAT(error_of([&] { place.site().get(); }).what(), Contains("hearth_blob_acquire"));
  CHECK(place.calls() == 0);
}

TEST_CASE("a client in the root is found without being named") {
  DaemonPlace place;
  unsetenv("HEARTH_BLOB_CLIENT");
  fs::copy_file(module("test_blob_client"), place.root / "libhearth_blob_client.so");
  BlobPlace::set("TEST_CLIENT_REPLY", reply_of(place.compiled()));
  CHECK(BlobPlace::call(place.site()) == 42);
  CHECK(place.calls() == 0);
}

TEST_CASE("naming a cache folder chooses direct mode, unless the mode says otherwise") {
  DaemonPlace place;
  BlobPlace::set("CK_JIT_CACHE_DIR", place.cache);
  BlobPlace::set("TEST_CLIENT_REPLY", reply_of(place.compiled()));
  CHECK(BlobPlace::call(place.site(0)) == 42);
  CHECK(place.calls() == 1);
  BlobPlace::set("HEARTH_BLOB_MODE", "daemon");
  CHECK(BlobPlace::call(place.site(1)) == 42);
  CHECK(place.calls() == 1);
}

TEST_CASE("a client without an answer, and one with a bad one") {
  DaemonPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  for (const char* reply : {"null", "[]", "{\"path\": \"x\"}"}) {
    BlobPlace::set("TEST_CLIENT_REPLY", reply);
    INFO(reply);
    CHECK(error_of([&] { place.site().get(); }).code() == 13);
  }
}

TEST_CASE("after a fork the client of the parent is not used") {
  DaemonPlace place;
  BlobPlace::set("TEST_CLIENT_REPLY", reply_of(place.compiled()));
  REQUIRE(BlobPlace::call(place.site(0)) == 42);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(BlobPlace::call(place.site(1)) == 42 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(place.calls() == 1);  // by the child, directly
}
