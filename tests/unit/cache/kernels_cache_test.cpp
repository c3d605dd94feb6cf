#include "kernels_cache/kernels_cache.h"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace hearth;
using namespace hearth::cache;

TEST_CASE("put and find, across a restart") {
  std::string pattern = std::filesystem::temp_directory_path() / "hearth_cache_XXXXXX";
  char* dir = pattern.data();
  REQUIRE(mkdtemp(dir));
  KeyMaterial m("hearth.test");
  m.add("a", "1");
  KeyMaterial p("hearth.test");
  p.add("a", "2");
  {
    auto c = KernelsCache::open({.dir = dir});
    INFO(c.status());
    REQUIRE(c.ok());
    REQUIRE(!(*c)->find_kernel(m));
    auto e = (*c)->put_kernel(m, "hello");
    INFO(e.status());
    REQUIRE(e.ok());
    REQUIRE((*c)->put_plan(p, "plan", {&e->digest, 1}).ok());
    REQUIRE((*c)->find_kernel(m));
  }
  auto c = KernelsCache::open({.dir = dir});
  REQUIRE(c.ok());
  auto e = (*c)->find_plan(p);
  REQUIRE(e);
  REQUIRE(e->plan == "plan");
  c->reset();
  std::filesystem::remove_all(dir);
}
