// Representative rules of every family, text in and text out: the whole standard set at the last line's node.
#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/rules/rules.h"

using namespace hearth;

namespace {

struct Case {
  const char* rule;
  const char* before;
  const char* after;
};

constexpr const char* kLeaves =
    "%0 = param i32 [slot=0]\n%1 = param i32 [slot=1]\n%2 = param f32 [slot=2]\n%3 = param bool [slot=3]\n"
    "%4 = param bool [slot=4]\n%5 = range index 10:index [axis=0 loop]\n%6 = range index 64:index [axis=1 loop]\n"
    "%7 = param u8 [slot=5]\n%8 = param i8 [slot=6]\n";

}  // namespace

TEST_CASE("rules by text") {
  const Case cases[] = {
      {"algebra: add_zero", "%9 = add i32 0:i32 %0", "param"},
      {"algebra: double", "%9 = add i32 %0 %0", "mul(param[slot=0], 2:i32)"},
      {"algebra: fold_nested_constants", "%9 = add i32 %0 3:i32\n%10 = add i32 4:i32 %9", "add(param[slot=0], 7:i32)"},
      {"algebra: wraps", "%9 = add u8 %7 250:u8\n%10 = add u8 %9 10:u8", "add(param[slot=5], 4:u8)"},
      {"algebra: sub_add_cancel", "%9 = sub i32 %0 %1\n%10 = add i32 %1 %9", "param"},
      {"algebra: not for floats", "%9 = mul f32 %2 0:f32", "mul(param[slot=2], 0:f32)"},
      {"algebra: not for -0", "%9 = add f32 %2 0:f32", "add(param[slot=2], 0:f32)"},
      {"algebra: exact for floats", "%9 = mul f32 1:f32 %2", "param"},
      {"logic: and_not", "%9 = not bool %3\n%10 = and bool %9 %3", "false:bool"},
      {"logic: or_absorbs", "%9 = and bool %4 %3\n%10 = or bool %9 %3", "param"},
      {"logic: not_lt", "%9 = lt bool %0 %1\n%10 = not bool %9", "le(param[slot=1], param[slot=0])"},
      {"logic: not_lt not for floats", "%9 = lt bool %2 1:f32\n%10 = not bool %9", "not(lt(param[slot=2], 1:f32))"},
      {"where: same", "%9 = where f32 %3 %2 %2", "param"},
      {"where: not", "%9 = not bool %3\n%10 = where i32 %9 %0 %1",
       "where(param[slot=3], param[slot=1], param[slot=0])"},
      {"where: nested", "%9 = where i32 %3 %0 7:i32\n%10 = where i32 %3 %9 %1",
       "where(param[slot=3], param[slot=0], param[slot=1])"},
      {"where: only of bools is its condition", "%9 = where i32 %3 1:i32 0:i32", "where(param[slot=3], 1:i32, 0:i32)"},
      {"compare: by bounds", "%9 = lt bool %5 10:index", "true:bool"},
      {"compare: moved", "%9 = add index %5 3:index\n%10 = lt bool %9 5:index",
       "lt(range[axis=0 loop](10:index), 2:index)"},
      {"compare: not moved where it wraps", "%9 = add i8 %8 3:i8\n%10 = lt bool %9 5:i8",
       "lt(add(param[slot=6], 3:i8), 5:i8)"},
      {"compare: scaled", "%9 = mul index %5 4:index\n%10 = le bool %9 11:index",
       "lt(range[axis=0 loop](10:index), 3:index)"},
      {"minmax: by bounds", "%9 = max index %5 -2:index", "range[axis=0 loop](10:index)"},
      {"minmax: clamp", "%9 = max i32 %0 5:i32\n%10 = min i32 %9 3:i32", "3:i32"},
      {"divmod: of a sum", "%9 = mul index %5 64:index\n%10 = add index %9 %6\n%11 = floordiv index %10 64:index",
       "range[axis=0 loop](10:index)"},
      {"divmod: nested", "%9 = floordiv index %6 3:index\n%10 = floordiv index %9 5:index",
       "floordiv(range[axis=1 loop](64:index), 15:index)"},
      {"divmod: nested not for i8", "%9 = floordiv i8 %8 12:i8\n%10 = floordiv i8 %9 12:i8",
       "floordiv(floordiv(param[slot=6], 12:i8), 12:i8)"},
      {"divmod: by zero", "%9 = truncdiv i32 %0 0:i32", "0:i32"},
      {"divmod: recombined",
       "%9 = truncdiv i32 %0 6:i32\n%10 = mul i32 %9 6:i32\n%11 = truncmod i32 %0 6:i32\n"
       "%12 = add i32 %10 %11",
       "param"},
      {"cast: widening and back", "%9 = cast i32 %7\n%10 = cast u8 %9", "param"},
      {"cast: narrowing stays", "%9 = cast i8 %0\n%10 = cast i32 %9", "cast(cast(param[slot=0]))"},
      {"cast: bool round trip", "%9 = cast i32 %3\n%10 = ne bool %9 0:i32", "param"},
      {"constants: folded", "%9 = truncdiv i8 -128:i8 -1:i8", "-128:i8"},
      {"constants: order", "%9 = mul f32 3:f32 %2", "mul(param[slot=2], 3:f32)"},
  };
  for (const Case& test : cases) {
    ir::Graph graph;
    const auto node = ir::parse(graph, std::string(kLeaves) + test.before);
    INFO(test.rule << ": " << node.status());
    REQUIRE(node.ok());
    const auto simple = rules::simplify(graph, *node);
    REQUIRE(simple.ok());
    std::string after = ir::describe(*simple, 6);
    if (std::string(test.after) == "param") after = after.substr(0, 5);
    CHECK(after == test.after);
  }
}

TEST_CASE("fast maths is off unless asked for") {
  ir::Graph graph;
  const auto node = ir::parse(graph, "%0 = param f32 [slot=0]\n%1 = mul f32 %0 0:f32").value();
  CHECK(rules::simplify(graph, node).value() == node);
  CHECK(rewrite::rewrite(graph, node, rules::standard_and_fast_math_rules()).value() ==
        graph.constant(ir::Scalar::F32, 0.0));
}
