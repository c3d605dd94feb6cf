// What the simplify fuzz found, each as small as it made it.
#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"
#include "tests/unit/rules/evaluator.h"

using namespace hearth;

namespace {

// With every parameter at `param`, simplifying keeps the value.
void check_value(const char* text, std::int64_t param, std::int64_t expected) {
  ir::Graph g;
  const ir::UOpRef root = ir::parse(g, text).value();
  const ir::UOpRef simple = rules::simplify(g, root).value();
  test::Assignment leaves;
  for (ir::UOpRef node : ir::toposort(root)) {
    if (node->is(ir::Op::Param)) leaves[node] = param;
  }
  INFO(text << "became\n" << ir::print(simple));
  CHECK(test::evaluate(root, leaves) == expected);
  CHECK(test::evaluate(simple, leaves) == expected);
}

}  // namespace

TEST_CASE("u64 -> i64 -> index is not u64 -> index: an index does not wrap") {
  check_value("%0 = param u64 [slot=1]\n%1 = cast i64 %0\n%2 = cast index %1\n", -5, -5);
}

TEST_CASE("a load in a loop that may be empty stays in it: only there it is known to be safe") {
  // The first element of a buffer with as many elements as the loop has turns; s may be 0 or less.
  constexpr const char* kText =
      "%0 = param u16 [slot=200]\n%1 = index void %0 0:index true:bool\n%2 = load u16 %1\n"
      "%3 = var index [name=s min=-9 max=9 slot=2]\n%4 = range index %3 [axis=100 reduce]\n"
      "%5 = reduce u16 %2 %4 [sum]\n";
  ir::Graph g;
  const ir::UOpRef root = ir::parse(g, kText).value();
  const ir::UOpRef size = root->source(1)->source(0);
  const ir::UOpRef simple = rules::simplify(g, root).value();
  for (std::int64_t s : {-3, 0, 4}) {
    const test::BufferSizes sizes = {{200, size}};
    test::Evaluator before({{size, s}}, sizes), after({{size, s}}, sizes);
    INFO("s = " << s << "\n" << ir::print(simple));
    CHECK(after.value(simple) == before.value(root));
    CHECK(after.outside() == nullptr);
  }
}
