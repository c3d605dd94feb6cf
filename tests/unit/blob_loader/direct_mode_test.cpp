// Direct mode: hearth-blobc (a stub) run by a site's first call, and everything that can go wrong with it.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "blob_place.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;
namespace fs = std::filesystem;

TEST_CASE("the first call compiles, later ones do not, all exports share it") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  Site& leaf = place.site(0, 0);
  CHECK(BlobPlace::call(leaf) == 42);
  CHECK(BlobPlace::call(leaf) == 42);
  CHECK(reinterpret_cast<GetName>(place.site(0, 1).get())() == "trait one");
  CHECK(BlobPlace::call(place.site(0, 0)) == 42);  // another site of the same export
  CHECK(place.calls() == 1);
  CHECK(BlobPlace::call(place.site(1, 0)) == 42);
  CHECK(place.calls() == 2);
}

TEST_CASE("hearth-blobc is told everything, word by word") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  BlobPlace::call(place.site());
  CHECK(place.arguments() == "--root|" + fs::canonical(place.root).string() +
                                 "|--stem|leaf_one|--source|blob/leaf_one.cpp|--toolchain|c++|--cache-dir|" +
                                 place.cache.string() +
                                 "|--export|_Z5leaf_I|--export|_Z14leaf_get_name_I|--arch|gfx942|--arch|gfx90a|--|-O3|"
                                 "-I{root}/include|-DTEXT=\"a b\"|\n");
}

TEST_CASE("a compile error reaches the caller with the compiler's last lines and is not tried again at once") {
  BlobPlace place;
  place.compiler_does(
      "for i in $(seq 1 100); do echo \"note $i\" >&2; done; echo 'x.cpp:3: error: no such type' >&2\n"
      "echo '{\"code\": 9, \"message\": \"the compiler says no\"}'; exit 1");
  Site& site = place.site();
  const BlobError first = error_of([&] { site.get(); });
  CHECK(first.code() == 9);
  CHECK_THAT(first.what(), Contains("blob leaf_one of libtest: the compiler says no") &&
                               Contains("x.cpp:3: error: no such type") && Contains("note 100") &&
                               !Contains("note 5\n"));
  const BlobError second = error_of([&] { place.site(0, 1).get(); });
  CHECK(std::string(second.what()) == first.what());
  CHECK(place.calls() == 1);
}

TEST_CASE("after HEARTH_BLOB_RETRY_S a failed blob is tried again") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  place.compiler_does("echo '{\"code\": 9, \"message\": \"no\"}'");
  Site& site = place.site();
  CHECK(error_of([&] { site.get(); }).code() == 9);
  place.compiler_copies("test_blob");
  CHECK(BlobPlace::call(site) == 42);
  CHECK(place.calls() == 2);
}

TEST_CASE("an absent blob compiler, one that cannot be run, and one that says nothing") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  const BlobError absent = error_of([&] { place.site().get(); });
  CHECK(absent.code() == 5);
  CHECK_THAT(absent.what(), Contains("root/hearth-blobc") && Contains("HEARTH_BLOBC"));
  write_file(place.root / "hearth-blobc", "#!/bin/sh\n");
  CHECK(error_of([&] { place.site().get(); }).code() == 9);
  place.compiler_does("echo 'out of luck' >&2; exit 3");
  const BlobError silent = error_of([&] { place.site().get(); });
  CHECK(silent.code() == 13);
  CHECK_THAT(silent.what(), Contains("exit code 3") && Contains("out of luck"));
}

TEST_CASE("answers that are none are internal errors, never a crash") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  for (const char* answer : {"nonsense", "{}", "{\"path\": 3}", "{\"path\": \"\"}", "{\"path\": \"relative.so\"}",
                             "{\"path\": \"/x.so\"}", "{\"path\": \"/x.so\", \"sha256\": \"00\"}", "{\"code\": 5}",
                             "{\"code\": 99, \"message\": \"odd\"}", "{\"path\": \"/x"}) {
    place.compiler_does(std::string("printf '%s' '") + answer + "'");
    INFO(answer);
    CHECK(error_of([&] { place.site().get(); }).code() == 13);
  }
  place.compiler_does("head -c 3000000 /dev/zero");
  CHECK(error_of([&] { place.site().get(); }).code() == 13);
}

TEST_CASE("a compiler that is killed is named by its signal") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  place.compiler_does("kill -9 $$");
  const BlobError killed = error_of([&] { place.site().get(); });
  CHECK(killed.code() == 13);
  CHECK_THAT(killed.what(), Contains("Killed") && Contains("memory"));
  place.compiler_does("kill -SEGV $$");
  CHECK_THAT(error_of([&] { place.site().get(); }).what(), Contains("Segmentation fault"));
}

TEST_CASE("a compiler that hangs is stopped with all it started") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_TIMEOUT_S", "1");
  place.compiler_does("sleep 1000 & echo $! > " + (place.folder / "pid").string() + "; echo working >&2; wait");
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 4);
  CHECK_THAT(error.what(), Contains("HEARTH_BLOB_TIMEOUT_S") && Contains("working"));
  const pid_t left = std::stoi(read_file(place.folder / "pid"));
  // It is somebody else's child: gone, or a zombie until its new parent looks.
  CHECK(hearth::test::eventually([&] {
    const std::string state = read_file("/proc/" + std::to_string(left) + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  }));
}

TEST_CASE("an answer is taken although something it left behind holds the output open") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_TIMEOUT_S", "60");
  place.compiler_does("cp '" + module("test_blob") +
                      "' $cache/$stem.so; sleep 1000 & echo '{\"path\": \"'$cache/$stem.so'\", \"sha256\": \"" +
                      sha256_of(module("test_blob")) + "\"}'");
  CHECK(BlobPlace::call(place.site()) == 42);
}

TEST_CASE("32 threads that call first share one compile") {
  BlobPlace place;
  place.compiler_does("sleep 0.3; cp '" + module("test_blob") +
                      "' $cache/$stem.so; echo '{\"path\": \"'$cache/$stem.so'\", \"sha256\": \"" +
                      sha256_of(module("test_blob")) + "\"}'");
  Site& shared = place.site(0, 0);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i)
    threads.emplace_back([&, i] {
      Site& site = i % 2 ? shared : place.site(0, 0);
      if (i % 4 == 3) {
        right += reinterpret_cast<GetName>(place.site(0, 1).get())() == "trait one";
      } else {
        right += BlobPlace::call(site) == 42;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 32);
  CHECK(place.calls() == 1);
}

TEST_CASE("threads that wait for a failing first call get its error, without tries of their own") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "1000");
  place.compiler_does("sleep 0.3; echo '{\"code\": 8, \"message\": \"no memory\"}'");
  std::atomic<int> same{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) threads.emplace_back([&] { same += error_of([&] { place.site().get(); }).code() == 8; });
  for (std::thread& thread : threads) thread.join();
  CHECK(same == 16);
  CHECK(place.calls() == 1);
}

TEST_CASE("a blob that throws passes its exception to the caller, and stays loaded") {
  BlobPlace place;
  place.compiler_copies("test_blob_throws");
  Site& site = place.site();
  CHECK_THROWS_WITH(BlobPlace::call(site), "no GPU");
  CHECK_THROWS_WITH(BlobPlace::call(site), "no GPU");
  CHECK(place.calls() == 1);
}

TEST_CASE("a compiled blob without its export says so") {
  BlobPlace place;
  place.compiler_copies("test_blob_hidden");
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 15);
  CHECK_THAT(error.what(), Contains("leaf_one") && Contains("_Z5leaf_I"));
}

TEST_CASE("cache folders that cannot be used are refused before anything is compiled") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  write_file(place.folder / "file", "");
  BlobPlace::set("CK_JIT_CACHE_DIR", place.folder / "file" / "cache");
  const BlobError in_file = error_of([&] { place.site().get(); });
  CHECK(in_file.code() == 7);
  CHECK_THAT(in_file.what(), Contains("file/cache") && Contains("CK_JIT_CACHE_DIR"));
  fs::create_directory(place.folder / "open");
  fs::permissions(place.folder / "open", fs::perms::all);
  BlobPlace::set("CK_JIT_CACHE_DIR", place.folder / "open");
  CHECK_THAT(error_of([&] { place.site().get(); }).what(), Contains("written by every user"));
  CHECK(place.calls() == 0);
  if (geteuid() != 0) {
    fs::create_directory(place.folder / "read_only");
    fs::permissions(place.folder / "read_only", fs::perms::owner_read | fs::perms::owner_exec);
    BlobPlace::set("CK_JIT_CACHE_DIR", place.folder / "read_only" / "cache");
    CHECK(error_of([&] { place.site().get(); }).code() == 7);
    SKIP_CASE("not root: cannot give a folder to another user");
  }
  hearth::test::skip_part("root may write into a read-only folder");
  REQUIRE(chown((place.folder / "open").c_str(), 54321, 54321) == 0);
  fs::permissions(place.folder / "open", fs::perms::owner_all);
  CHECK_THAT(error_of([&] { place.site().get(); }).what(), Contains("belongs to user 54321"));
  CHECK(place.calls() == 0);
}

TEST_CASE("a process that ignores SIGCHLD, and one that has it blocked, compile all the same") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  CHECK(BlobPlace::call(place.site(0)) == 42);
  std::signal(SIGCHLD, before);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int result = BlobPlace::call(place.site(1));
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  CHECK(result == 42);
}
