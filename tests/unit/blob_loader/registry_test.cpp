// What is shared and remembered: versions, indices, blobs by stem, fork.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "blob_place.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;
namespace fs = std::filesystem;

TEST_CASE("a list of blobs of another version is refused, naming both and the remedy") {
  BlobPlace place;
  place.mutable_library()->version = kLibraryVersion + 1;
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 9);
  CHECK_THAT(error.what(), Contains("version " + std::to_string(kLibraryVersion + 1)) &&
                               Contains("version " + std::to_string(kLibraryVersion)) &&
                               Contains("hearth blobs build full"));
}

TEST_CASE("a dispatcher of another build calls no blob: its numbers mean others") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  place.mutable_library()->list_digest = place.dispatcher().list_digest + 1;
  const BlobError error = error_of([&] { place.site().get(); });
  CHECK(error.code() == 9);
  CHECK_THAT(error.what(), Contains("libtest") && Contains("two builds") && Contains("hearth blobs build full"));
  CHECK(place.calls() == 0);
}

TEST_CASE("a number beyond the list of blobs, or of a blob's exports, is refused") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  CHECK(error_of([&] { place.site(2, 0).get(); }).code() == 13);
  CHECK_THAT(error_of([&] { place.site(0, 2).get(); }).what(), Contains("export 2 of blob 0"));
  CHECK(place.calls() == 0);
}

TEST_CASE("sites of one blob share it") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  void* leaf = place.site(1, 0).get();
  CHECK(place.site(1, 0).get() == leaf);
  CHECK(place.site(1, 1).get() != leaf);
  CHECK(place.calls() == 1);
}

TEST_CASE("a child of fork uses what was loaded and loads what was being loaded") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  Site& loaded = place.site(0, 0);
  REQUIRE(BlobPlace::call(loaded) == 42);
  place.compiler_does("sleep 0.5; cp '" + module("test_blob") +
                      "' $cache/$$.so; echo '{\"path\": \"'$cache/$$.so'\", \"sha256\": \"" +
                      sha256_of(module("test_blob")) + "\"}'");
  Site& busy = place.site(1, 0);
  std::thread first([&] { BlobPlace::call(busy); });
  while (place.calls() < 2) std::this_thread::yield();  // the compile of the second blob has begun
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends as a signal
    int wrong = BlobPlace::call(loaded) == 42 ? 0 : 1;
    wrong += BlobPlace::call(busy) == 42 ? 0 : 2;
    _exit(wrong);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  first.join();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(BlobPlace::call(busy) == 42);
  CHECK(place.calls() == 3);
}
