#include "daemon/worker_pool/real_path.h"

#include <catch2/catch.hpp>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

TEST_CASE("real path: links are followed as the kernel does, and told") {
  TestFolder folder;
  const std::string base = fs::canonical(folder.path());
  fs::create_directories(base + "/a/b");
  fs::create_directory_symlink("a/b", base + "/relative");
  fs::create_directory_symlink(base + "/relative/..", base + "/absolute");
  fs::create_symlink("loop", base + "/loop");
  const auto plain = follow(base + "/a/./b//");
  REQUIRE(plain);
  CHECK((plain->real == base + "/a/b" && plain->links.empty()));
  const auto relative = follow(base + "/relative");
  REQUIRE(relative);
  CHECK(relative->real == base + "/a/b");
  REQUIRE(relative->links.size() == 1);
  CHECK((relative->links[0].place == base + "/relative" && relative->links[0].target == "a/b"));
  // ".." is the parent of where the link leads, not of the link.
  const auto absolute = follow(base + "/absolute/b");
  REQUIRE(absolute);
  CHECK(absolute->real == base + "/a/b");
  CHECK(absolute->links.size() == 2);
  CHECK_FALSE(follow(base + "/loop"));
  CHECK_FALSE(follow(base + "/nothing"));
  CHECK_FALSE(follow("a/b"));
}

TEST_CASE("real path: within is by names, not by letters") {
  CHECK(is_within("/a/b", "/a"));
  CHECK(is_within("/a", "/a"));
  CHECK(is_within("/a", "/"));
  CHECK_FALSE(is_within("/ab", "/a"));
  CHECK_FALSE(is_within("/a", "/a/b"));
}

}  // namespace
}  // namespace hearth::daemon
