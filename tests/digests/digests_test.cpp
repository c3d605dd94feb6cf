// Plans and code are what tests/digests/list.txt says, on any machine: a sample that is drawn anew in every run.
// Changes that are meant: plan_digests --update, and the commit says what they are worth.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "tests/digests/digest_cases.h"
#include "tests/digests/digest_list.h"
#include "tests/digests/digests.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/skip.h"

namespace hearth::digests {

TEST_CASE("plans and code of a sample of graphs are those of the list") {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  const std::vector<v1::Target> targets = fixed_targets();
  const auto list = read_digest_list(std::string(source_dir) + "/tests/digests/list.txt");
  REQUIRE(list.ok());
  if (list->llvm_version != llvm_version())
    test::skip_part("the list's code is LLVM " + list->llvm_version + "'s, here is " + llvm_version());
  std::vector<DigestCase> cases = digest_cases(source_dir, "");
  std::erase_if(cases,
                [&](const DigestCase& c) { return c.name.starts_with("onnx/") && !list->digests.contains(c.name); });
  std::shuffle(cases.begin(), cases.end(), std::mt19937_64(test::fresh_seed()));
  cases.resize(std::min<std::size_t>(cases.size(), test::fresh_count(40)));
  for (const DigestCase& c : cases) {
    INFO(c.name);
    const auto graph = c.graph();
    REQUIRE(graph.ok());
    const auto now = digests_of(*graph, targets);
    REQUIRE(now.ok());
    CHECK(difference(*list, c.name, *now) == "");
  }
}

TEST_CASE("a changed plan or code is named, and code is not compared with another LLVM's") {
  DigestList list{llvm_version(), {{"a", "1:2 3:4"}}};
  CHECK(difference(list, "a", "1:2 3:4") == "");
  CHECK(difference(list, "a", "1:2 5:4") == "the plan for target 1");
  CHECK(difference(list, "a", "1:9 5:6") == "the code for target 0, the plan for target 1");
  CHECK(difference(list, "a", "1:2") == "the list has other targets");
  CHECK(difference(list, "b", "1:2") == "it is not in the list");
  list.llvm_version = "another";
  CHECK(difference(list, "a", "1:9 5:6") == "the plan for target 1");
}

}  // namespace hearth::digests
