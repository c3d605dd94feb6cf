// The blobs that one call leads to are asked for together.
#include <catch2/catch.hpp>
#include <deque>

#include "blob_place.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;

namespace {

// A group of the place's two blobs, with a row that is no blob between them.
struct Group {
  explicit Group(const BlobPlace& place)
      : first(&place.dispatcher(), 0, 0), second(&place.dispatcher(), 1, 0), group(&first, none, &second) {}
  Site* none = nullptr;
  Site first, second;
  SiteGroup group;
};

// As sites are: for the life of the process.
Group& kept(const BlobPlace& place) {
  static auto& all = *new std::deque<Group>;
  return all.emplace_back(place);
}

}  // namespace

TEST_CASE("the blobs of a call compile side by side: none waits for another") {
  BlobPlace place;
  // Each compile ends only when both have begun.
  place.compiler_does(
      "touch '" + place.folder.string() + "/begun_'$stem\n" + "for i in $(seq 600); do [ -e '" + place.folder.string() +
      "/begun_leaf_one' ] && [ -e '" + place.folder.string() + "/begun_leaf_two' ] && break; sleep 0.1; done\n" +
      "[ $i -lt 600 ] || { echo '{\"code\": 4, \"message\": \"alone\"}'; exit 1; }\n" + "cp '" + module("test_blob") +
      "' $cache/$stem.so; echo '{\"path\": \"'$cache/$stem.so'\", \"sha256\": \"" + sha256_of(module("test_blob")) +
      "\"}'");
  Group& group = kept(place);
  group.group.want();
  CHECK(group.first.is_loaded());
  CHECK(group.second.is_loaded());
  CHECK(place.calls() == 2);
  CHECK(BlobPlace::call(group.group.site(0, 0)) == 42);
  CHECK(BlobPlace::call(group.group.site(2, 0)) == 42);
  group.group.want();
  CHECK(place.calls() == 2);
}

TEST_CASE("a blob of a call that cannot be had is told by the call itself, once") {
  BlobPlace place;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "1000");
  place.compiler_does("[ $stem = leaf_one ] && { echo '{\"code\": 9, \"message\": \"one says no\"}'; exit 1; }\ncp '" +
                      module("test_blob") +
                      "' $cache/$stem.so; echo '{\"path\": \"'$cache/$stem.so'\", \"sha256\": \"" +
                      sha256_of(module("test_blob")) + "\"}'");
  Group& group = kept(place);
  CHECK_NOTHROW(group.group.want());
  CHECK_FALSE(group.first.is_loaded());
  CHECK(BlobPlace::call(group.group.site(2, 0)) == 42);
  CHECK_THAT(error_of([&] { group.group.site(0, 0).get(); }).what(), Contains("one says no"));
  CHECK_NOTHROW(group.group.want());
  CHECK(place.calls() == 2);  // the failure is remembered
}

TEST_CASE("a call whose blobs could not be had asks for all of them again") {
  BlobPlace other;
  BlobPlace::set("HEARTH_BLOB_RETRY_S", "0");
  other.compiler_does("echo '{\"code\": 9, \"message\": \"no\"}'; exit 1");
  Group& again = kept(other);
  again.group.want();
  CHECK_FALSE(again.first.is_loaded());
  other.compiler_copies("test_blob");
  again.group.want();
  CHECK(again.first.is_loaded());
  CHECK(again.second.is_loaded());
}
