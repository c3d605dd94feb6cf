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
  for (const auto& error : {error_of([&] { place.site().get(); }),
                            error_of([&] { find_blob_function(place.library(), "leaf_one", "_Z5leaf_I"); })}) {
    CHECK(error.code() == 9);
    CHECK_THAT(error.what(), Contains("version 2") && Contains("version 1") && Contains("hearth blobs build full"));
  }
}

TEST_CASE("a dispatcher of another build is noticed") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  CHECK(error_of([&] { place.site(2, 0).get(); }).code() == 13);
  CHECK_THAT(error_of([&] { place.site(0, 2).get(); }).what(), Contains("two builds"));
  CHECK(place.calls() == 0);
}

TEST_CASE("a blob of the list is found by its stem, and shared with its sites") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  void* leaf = find_blob_function(place.library(), "leaf_two", "_Z5leaf_I");
  CHECK(place.site(1, 0).get() == leaf);
  CHECK(place.calls() == 1);
  const BlobError error = error_of([&] { find_blob_function(place.library(), "leaf_two", "_Z4none_I"); });
  CHECK(error.code() == 5);
  CHECK_THAT(error.what(), Contains("_Z4none_I") && Contains("leaf_two"));
}

TEST_CASE("a blob that is not in the list is compiled by the manifest") {
  BlobPlace place;
  place.compiler_copies("test_blob");
  const std::string root = fs::canonical(place.root);
  CHECK(find_blob_function(place.library(), "unlisted", "_Z5leaf_I") != nullptr);
  CHECK(place.arguments() == "--root|" + root + "|--stem|unlisted|--manifest|" + root +
                                 "/ck_jit_manifest.json|--cache-dir|" + place.cache.string() + "|\n");
  BlobPlace::set("CK_JIT_MANIFEST", "/other/manifest.json");
  CHECK(find_blob_function(place.library(), "unlisted2", "_Z5leaf_I") != nullptr);
  CHECK_THAT(place.arguments(), Contains("--stem|unlisted2|--manifest|/other/manifest.json|"));
  place.compiler_does("echo '{\"code\": 5, \"message\": \"stem nowhere is not in the manifest\"}'");
  const BlobError unknown = error_of([&] { find_blob_function(place.library(), "nowhere", "_Z5leaf_I"); });
  CHECK(unknown.code() == 5);
  CHECK_THAT(unknown.what(), Contains("stem nowhere is not in the manifest"));
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
