// Blobs through the real programs: hearthd, hearth-blob-worker, libhearth_blob_client.so, `hearth blobs prewarm`, and
// the host's c++ as the compiler.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <thread>

#include "client/connection/blob_file.h"

#include <nlohmann/json.hpp>
#include "tests/integration/blob_place.h"
#include "tests/support/eventually.h"

namespace hearth::integration {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

using test::eventually;

// What blob stats must always add up to.
Json checked_stats(BlobPlace& place) {
  const Json now = place.stats();
  CHECK(now["blob_requests"] == now["blob_hits"].get<int>() + now["blob_misses"].get<int>() +
                                    now["blob_joined"].get<int>() + now["blob_errors"].get<int>());
  return now;
}

std::vector<std::string> add_blobs(BlobPlace& place, int count, const std::string& header = "") {
  std::vector<std::string> stems;
  for (int i = 0; i < count; ++i) {
    stems.push_back("blob_" + std::to_string(i));
    place.add(stems.back(), i, header);
  }
  return stems;
}

TEST_CASE("blob service: 50 processes first-call the same 20 blobs: 20 compiles") {
  BlobPlace place;
  const std::vector<std::string> stems = add_blobs(place, 20);
  std::vector<Process> callers;
  for (int seed = 0; seed < 50; ++seed) callers.push_back(place.call(stems, seed));
  for (Process& caller : callers) {
    const Ran ran = caller.wait();
    INFO(ran.err);
    CHECK((ran.code == 0 && ran.out == "210\n"));  // 20 * 1 + (0 + … + 19)
  }
  const Json stats = checked_stats(place);
  CHECK(stats["blob_requests"] == 50 * 20);
  CHECK(stats["blobs_compiled"] == 20);
  CHECK(stats["blob_misses"] == 20);
  CHECK(stats["blob_errors"] == 0);
}

TEST_CASE("blob service: a header that changes, goes back, moves") {
  BlobPlace place;
  place.write_header("value.h", 100);
  for (const char* stem : {"a", "b", "c"}) place.add(stem, 1, "value.h");
  for (const char* stem : {"x", "y", "z"}) place.add(stem, 2);
  CHECK(place.call(place.stems()).wait().out == "315\n");
  CHECK(place.stats()["blobs_compiled"] == 6);
  place.write_header("value.h", 200);
  CHECK(place.call(place.stems()).wait().out == "615\n");
  CHECK(place.stats()["blobs_compiled"] == 9);
  place.write_header("value.h", 100);
  CHECK(place.call(place.stems()).wait().out == "315\n");
  CHECK(place.stats()["blobs_compiled"] == 9);
  place.move_root("elsewhere");
  CHECK(place.call(place.stems()).wait().out == "315\n");
  place.stop_daemon();
  CHECK(place.call(place.stems()).wait().out == "315\n");
  CHECK(checked_stats(place)["blobs_compiled"] == 0);  // of the new daemon
}

TEST_CASE("blob service: what is wrong is said by name") {
  BlobPlace place;
  place.environment()["HEARTH_HANG_LIMIT_S"] = "1";
  place.environment()["HEARTH_BLOB_WORKER_MEMORY"] = "600MiB";
  place.add("good", 1);
  place.add_text("broken", "int blob(int x) { return y; }\n");
  place.add_text("empty", "int other(int x) { return x; }\n");
  place.add_text("twice",
                 "template <class T> T blob(T x);\ntemplate <> int blob<int>(int x) { return x; }\n"
                 "template <> long blob<long>(long x) { return x; }\n");
  for (const char* stem : {"hang", "crash", "eater"}) place.add(stem, 1);
  struct Row {
    const char* stem;
    int code;
    const char* says;
  };
  for (const Row& row : {Row{"broken", 9, "'y' was not declared"}, Row{"empty", 15, "_Z4blobI"},
                         Row{"twice", 15, "_Z4blobI"}, Row{"missing", 3, "missing.cpp"}, Row{"hang", 4, "hung"},
                         Row{"crash", 13, "Segmentation fault"}, Row{"eater", 8, "memory"}}) {
    INFO(row.stem);
    const Ran ran = place.call({row.stem}).wait();
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 1);
    const Json reply = Json::parse(ran.out);
    CHECK(reply["code"] == row.code);
    CHECK(reply["message"].get<std::string>().find(row.stem) != std::string::npos);
    CHECK(reply["message"].get<std::string>().find(row.says) != std::string::npos);
    CHECK(place.compilers() == 0);
    CHECK(place.call({"good"}).wait().out == "2\n");
  }
  // Not again at once.
  const Json again = Json::parse(place.call({"broken"}).wait().out);
  CHECK(again["message"].get<std::string>().find("s ago") != std::string::npos);
  checked_stats(place);
  place.stop_daemon();
  place.environment()["HEARTH_BLOB_CXX"] = "/nowhere/c++";
  const Json absent = Json::parse(place.call({"good"}).wait().out);
  CHECK(absent["code"] == 5);
  CHECK(absent["message"].get<std::string>().find("/nowhere/c++") != std::string::npos);
}

TEST_CASE("blob service: nothing is left of a compile whose caller or daemon is gone") {
  BlobPlace place;
  place.add("hang", 1);
  {
    const Process caller = place.call({"hang"});
    REQUIRE(eventually([&] { return place.compilers() >= 2; }));
    ::kill(caller.pid(), SIGKILL);
    CHECK(eventually([&] { return place.compilers() == 0; }));
  }
  Process caller = place.call({"hang"});
  REQUIRE(eventually([&] { return place.compilers() >= 2; }));
  const std::vector<pid_t> daemons = place.daemons();
  REQUIRE(daemons.size() == 1);
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  ::kill(daemons[0], SIGKILL);
  CHECK(eventually([&] { return place.compilers() == 0; }));
}

TEST_CASE("blob service: prewarm goes on where it was killed") {
  BlobPlace place;
  add_blobs(place, 30);
  place.write_manifest();
  {
    Process first = place.prewarm({"build", "--all", "-j", "2"});
    REQUIRE(eventually([&] {
      return !place.daemons().empty() && place.run({"hearth", "stats", "--json"}).code == 0 &&
             place.stats()["blobs_compiled"] >= 3;
    }));
    ::kill(first.pid(), SIGKILL);
    CHECK(first.wait().code == -SIGKILL);
  }
  const Ran second = place.prewarm({"build", "--all", "--resume", "--json"}).wait();
  INFO(second.out << second.err);
  REQUIRE(second.code == 0);
  const Json done = Json::parse(second.out);
  CHECK(done["cached"].get<int>() >= 3);
  CHECK(done["cached"].get<int>() + done["compiled"].get<int>() == 30);
  const Json third = Json::parse(place.prewarm({"build", "--all", "--json"}).wait().out);
  CHECK(third["cached"] == 30);
  // One that ended just when its caller was killed may be asked for again before it is stored: at most -j of them.
  const int compiled = checked_stats(place)["blobs_compiled"].get<int>();
  CHECK((compiled >= 30 && compiled <= 32));
  // Ctrl-C.
  place.add("hang", 1);
  place.write_manifest();
  Process interrupted = place.prewarm({"build", "hang"});
  REQUIRE(eventually([&] { return place.compilers() >= 1; }));
  ::kill(interrupted.pid(), SIGINT);
  const Ran ended = interrupted.wait();
  CHECK(ended.code == 128 + SIGINT);
  CHECK(ended.err.find("run the command again") != std::string::npos);
  CHECK(eventually([&] { return place.compilers() == 0; }));
}

TEST_CASE("blob service: prewarm takes blobs in every form, lists failures and unknown names, cleans") {
  BlobPlace place;
  add_blobs(place, 6);
  place.add_text("broken", "int blob(int x) { return y; }\n");
  const std::string manifest = place.write_manifest();
  const std::string list = place.write("list", "# captured\n blob_3\n\nblob_4.cpp  # twice: blob_0\nblob_0\n");
  for (const bool direct : {false, true}) {
    INFO((direct ? "direct" : "daemon"));
    const auto run = [&](std::vector<std::string> words) {
      if (direct) words.insert(words.end(), {"--cache-dir", place.file("flat")});
      return place.prewarm(words).wait();
    };
    const Ran built = run({"build", "blob_0", "blob_1.cpp", place.root() + "/src/blob_2.cpp", "/cache/of/blob_5.so",
                           "broken", "nobody", "--blob-list", list, "--json"});
    INFO(built.out << built.err);
    CHECK(built.code == 1);
    const Json result = Json::parse(built.out);
    CHECK(result["compiled"] == 6);
    REQUIRE(result["failed"].size() == 1);
    CHECK(result["failed"][0]["stem"] == "broken");
    CHECK(result["failed"][0]["error"].get<std::string>().find("'y' was not declared") != std::string::npos);
    CHECK(result["unknown"] == Json({"nobody"}));

    const Ran told = run({"build", "broken", "nobody"});
    CHECK(told.code == 1);
    CHECK(told.err.find("[1/1] broken FAILED") != std::string::npos);
    CHECK(told.err.find("nobody is not in " + manifest) != std::string::npos);
    CHECK(told.out.starts_with("0 compiled, 0 cached before, 1 failed, 1 unknown"));

    const Json listed = Json::parse(run({"list", "--json"}).out);
    REQUIRE(listed["blobs"].size() == 7);
    CHECK(listed["blobs"][0] == Json({{"stem", "blob_0"}, {"state", "cached"}}));
    CHECK(listed["blobs"][6] == Json({{"stem", "broken"}, {"state", "not cached"}}));

    CHECK(run({"clean", "blob_0", "unknown"}).code == 0);
    const Ran some = run({"list", "blob_0", "blob_1", "stranger", "--json"});
    CHECK(some.code == 1);
    CHECK(Json::parse(some.out)["blobs"][0]["state"] == "not cached");
    CHECK(Json::parse(some.out)["blobs"][1]["state"] == "cached");
    CHECK(Json::parse(some.out)["unknown"] == Json({"stranger"}));
    CHECK(run({"clean", "--all"}).code == 0);
    CHECK(Json::parse(run({"build", "blob_1", "--json"}).out)["compiled"] == 1);
  }
  // Nothing named; no manifest; a damaged one; two modes at once.
  CHECK(place.prewarm({"build"}).wait().err.find("--all") != std::string::npos);
  CHECK(place.run({"hearth", "blobs", "prewarm", "build", "--all"}).err.find("CK_JIT_MANIFEST") != std::string::npos);
  CHECK(place.prewarm({"build", "--all", "--manifest", place.write("bad", "{")}).wait().code == 1);
  CHECK(place.prewarm({"build", "--all", "--daemon", "--direct"}).wait().err.find("excludes") != std::string::npos);
}

TEST_CASE("blob service: no daemon where none may be started") {
  BlobPlace place;
  place.add("a", 1);
  place.environment()["HEARTH_NO_AUTOSTART"] = "1";
  const Ran none = place.call({"a"}).wait();
  REQUIRE(none.code == 1);
  CHECK(Json::parse(none.out)["code"] == 14);
  CHECK(Json::parse(none.out)["message"].get<std::string>().find("no daemon listens") != std::string::npos);
}

TEST_CASE("blob service: a client fetches what it cannot open, into a folder of its own") {
  BlobPlace place;
  place.add("a", 1);
  REQUIRE(place.call({"a"}).wait().code == 0);
  const auto deadline = std::chrono::steady_clock::now() + test::give_up();
  const auto channel = client::DaemonChannel::get({.socket = place.socket(), .auto_start = false});
  REQUIRE(channel.ok());
  v1::CompileBlobRequest request;
  v1::BlobSpec& spec = *request.mutable_blob();
  spec.set_stem("a");
  spec.set_toolchain("c++");
  spec.set_root(place.root());
  spec.set_source("src/a.cpp");
  for (const char* flag : {"-I{root}/include", "-std=c++17", "-O1"}) spec.add_flags(flag);
  spec.add_exports("_Z4blobI");
  const auto result = (*channel)->compile_blob(request, deadline);
  REQUIRE(result.ok());
  CHECK(result->hit());
  const auto open = [&](const std::string& path) {
    v1::ArtifactRef artifact = result->artifact();
    artifact.set_path(path);
    return client::open_blob(**channel, artifact, deadline);
  };
  CHECK(open(result->artifact().path())->path == result->artifact().path());
  // A damaged file of the cache is not handed out, and put aside; the next request compiles the blob again.
  const std::string whole = content(result->artifact().path());
  fs::permissions(result->artifact().path(), fs::perms::owner_all);
  std::ofstream(result->artifact().path(), std::ios::app) << "damage";
  CHECK(absl::IsDataLoss(open(result->artifact().path()).status()));
  const Ran called = place.call({"a"}).wait();
  CHECK(called.out == "2\n");
  CHECK(content(result->artifact().path()) == whole);
  const std::string runtime = place.file("runtime");
  fs::create_directory(runtime);
  ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  const auto copy = open("/nowhere/blob");
  INFO(copy.status());
  REQUIRE(copy.ok());
  CHECK(copy->path.starts_with(runtime));
  CHECK(content(copy->path) == content(result->artifact().path()));
  // A damaged copy is replaced.
  fs::permissions(copy->path, fs::perms::owner_all);
  std::ofstream(copy->path) << "damaged";
  CHECK(content(open("")->path) == content(result->artifact().path()));
  // A folder that others may write is not used.
  fs::permissions(fs::path(copy->path).parent_path(), fs::perms::all);
  const auto refused = open("");
  CHECK(absl::IsPermissionDenied(refused.status()));
  CHECK(refused.status().ToString().find(runtime) != std::string::npos);
  ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace hearth::integration
