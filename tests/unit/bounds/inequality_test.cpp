// What rules/inequality proves and what it must not, by hand.
#include "compiler/rules/inequality.h"

#include <catch2/catch.hpp>

namespace hearth::rules {
namespace {

using ir::Op;
using ir::RangeKind;
using ir::UOpRef;

struct Case {
  ir::Graph g;
  Inequalities known{g};
  UOpRef n = g.var("n", 0, 100, 0), m = g.var("m", 1, 50, 1);
  UOpRef c(std::int64_t value) { return g.index(value); }
  UOpRef range(UOpRef size, std::uint32_t axis) { return g.range(size, axis, RangeKind::Loop); }
  UOpRef min(UOpRef a, UOpRef b) { return g.binary(Op::Min, a, b); }
  UOpRef max(UOpRef a, UOpRef b) { return g.binary(Op::Max, a, b); }
};

TEST_CASE("nested loops of symbolic lengths") {
  Case t;
  UOpRef i = t.range(t.n, 0), j = t.range(t.m, 1), k = t.range(t.c(4), 2);
  // i * m * 4 + j * 4 + k < n * m * 4
  UOpRef at = t.g.add(t.g.add(t.g.mul(t.g.mul(i, t.m), t.c(4)), t.g.mul(j, t.c(4))), k);
  UOpRef size = t.g.mul(t.g.mul(t.n, t.m), t.c(4));
  CHECK(t.known.proves_below(at, size));
  CHECK(t.known.proves_non_negative(at));
  CHECK_FALSE(t.known.proves_below(t.g.add(at, t.c(1)), size));
  CHECK_FALSE(t.known.proves_non_negative(t.g.add(at, t.c(-1))));
  CHECK_FALSE(t.known.proves_below(at, t.g.sub(size, t.c(1))));
}

TEST_CASE("conditions bound what they compare") {
  Case t;
  UOpRef i = t.range(t.g.add(t.n, t.c(2)), 0), position = t.g.add(i, t.c(-1));  // padded by one at both ends
  CHECK_FALSE(t.known.proves_non_negative(position));
  CHECK_FALSE(t.known.proves_below(position, t.n));
  t.known.assume(t.g.logical_and(t.g.lt(t.c(0), i), t.g.lt(i, t.g.add(t.n, t.c(1)))));
  CHECK(t.known.proves_non_negative(position));
  CHECK(t.known.proves_below(position, t.n));
  CHECK_FALSE(t.known.proves_below(i, t.n));
}

TEST_CASE("a condition that fails says the opposite; a disjunction that fails says both") {
  Case t;
  UOpRef i = t.range(t.n, 0);
  t.known.assume(t.g.binary(Op::Or, t.g.lt(i, t.c(3)), t.g.le(t.c(8), i)), false);
  CHECK(t.known.proves_non_negative(t.g.add(i, t.c(-3))));
  CHECK(t.known.proves_below(i, t.c(8)));
  CHECK_FALSE(t.known.proves_below(i, t.c(7)));
}

TEST_CASE("the parts of a split loop cover its length") {
  Case t;
  UOpRef whole = t.g.floordiv(t.n, t.c(4)), rest = t.g.floormod(t.n, t.c(4));
  UOpRef outer = t.range(whole, 0), lane = t.range(t.c(4), 1), tail = t.range(rest, 2);
  UOpRef main_at = t.g.add(t.g.mul(outer, t.c(4)), lane), tail_at = t.g.add(t.g.mul(whole, t.c(4)), tail);
  CHECK(t.known.proves_below(main_at, t.n));
  CHECK(t.known.proves_below(tail_at, t.n));
  CHECK_FALSE(t.known.proves_below(t.g.add(main_at, t.c(1)), t.n));
  CHECK_FALSE(t.known.proves_below(t.g.add(tail_at, t.c(1)), t.n));
  // A row of n in m rows, whichever of the nodes was made first.
  UOpRef row = t.range(t.m, 3);
  CHECK(t.known.proves_below(t.g.add(t.g.mul(t.n, row), tail_at), t.g.mul(t.n, t.m)));
  CHECK_FALSE(t.known.proves_below(t.g.add(t.g.mul(t.n, t.g.add(row, t.c(1))), tail_at), t.g.mul(t.n, t.m)));
}

TEST_CASE("the parts of a split loop, the quotient made last") {
  Case t;
  UOpRef tail = t.range(t.g.floormod(t.n, t.c(4)), 2), row = t.range(t.m, 3);
  UOpRef at = t.g.add(t.g.mul(t.n, row), t.g.add(t.g.mul(t.g.floordiv(t.n, t.c(4)), t.c(4)), tail));
  CHECK(t.known.proves_below(at, t.g.mul(t.n, t.m)));
  CHECK_FALSE(t.known.proves_below(at, t.g.mul(t.n, t.g.add(t.m, t.c(-1)))));
}

TEST_CASE("the parts of a split loop, in a loop made first") {
  Case t;
  t.known.assume_at_least(t.g.floormod(t.m, t.c(4)), 1);
  UOpRef row = t.range(t.c(6), 0), base = t.g.mul(t.m, row), whole = t.g.mul(t.g.floordiv(t.m, t.c(4)), t.c(4));
  UOpRef tail = t.range(t.g.floormod(t.m, t.c(4)), 1);
  CHECK(t.known.proves_below(t.g.add(t.g.add(base, whole), tail), t.g.mul(t.m, t.c(6))));
  CHECK_FALSE(t.known.proves_below(t.g.add(t.g.add(base, whole), tail), t.g.mul(t.m, t.c(5))));
}

TEST_CASE("a whole vector needs a loop that runs") {
  Case t;
  UOpRef lane = t.range(t.c(4), 0), vectors = t.g.floordiv(t.n, t.c(4));
  CHECK_FALSE(t.known.proves_below(lane, t.n));
  t.known.assume_at_least(vectors, 1);
  CHECK(t.known.proves_below(lane, t.n));
  CHECK_FALSE(t.known.proves_below(t.g.add(lane, t.c(1)), t.n));
}

TEST_CASE("blocks end at the end") {
  Case t;
  UOpRef block = t.range(t.c(7), 0), begin = t.g.mul(block, t.c(16));  // of 100
  UOpRef inner = t.range(t.min(t.c(16), t.g.sub(t.c(100), begin)), 1);
  CHECK(t.known.proves_below(t.g.add(begin, inner), t.c(100)));
  CHECK_FALSE(t.known.proves_below(t.g.add(begin, inner), t.c(99)));
}

TEST_CASE("clamped indices, also with negative ones counted from the end") {
  Case t;
  UOpRef raw = t.g.cast(t.g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{0}), ir::Scalar::Index);
  UOpRef wrapped = t.g.where(t.g.lt(raw, t.c(0)), t.g.add(raw, t.n), raw);
  UOpRef clamped = t.max(t.min(wrapped, t.g.sub(t.n, t.c(1))), t.c(0));
  CHECK(t.known.proves_non_negative(clamped));
  CHECK_FALSE(t.known.proves_below(clamped, t.n));  // n may be 0
  t.known.assume(t.g.lt(t.c(0), t.n));
  CHECK(t.known.proves_below(clamped, t.n));
  CHECK_FALSE(t.known.proves_below(wrapped, t.n));
  // where's condition holds in its branch
  UOpRef inside = t.g.logical_and(t.g.le(t.c(0), raw), t.g.lt(raw, t.n));
  CHECK(t.known.proves_below(t.g.where(inside, raw, t.c(0)), t.n));
  CHECK(t.known.proves_non_negative(t.g.where(inside, raw, t.c(0))));
  CHECK_FALSE(t.known.proves_below(t.g.where(inside, t.g.add(raw, t.c(1)), t.c(0)), t.n));
  CHECK_FALSE(t.known.proves_below(raw, t.n));  // what held in a branch is forgotten after it
}

TEST_CASE("quotients with remainders that only together fit") {
  Case t;
  UOpRef x = t.range(t.c(111), 0), q = t.g.floordiv(x, t.c(37)), r = t.g.floormod(x, t.c(37));
  // rows of 9472 that hold 37 pieces of 64: neither x / 37 <= 3 nor x = 37 q + r alone is enough
  UOpRef at = t.g.add(t.g.mul(q, t.c(9472)), t.g.mul(r, t.c(64)));
  CHECK(t.known.proves_below(at, t.c(3 * 9472)));
  CHECK_FALSE(t.known.proves_below(at, t.c(2 * 9472 + 36 * 64)));
  UOpRef y = t.range(t.c(112), 1);
  UOpRef beyond = t.g.add(t.g.mul(t.g.floordiv(y, t.c(37)), t.c(9472)), t.g.mul(t.g.floormod(y, t.c(37)), t.c(64)));
  CHECK_FALSE(t.known.proves_below(beyond, t.c(3 * 9472)));
}

TEST_CASE("two loops of which one has any length, counted as one") {
  Case t;
  // heads of any batch: u < m * 12 at row u div 12, column u mod 12 of [m][n + 1][12]
  UOpRef rows = t.g.add(t.n, t.c(1)), u = t.range(t.g.mul(t.m, t.c(12)), 0), row = t.range(rows, 1);
  UOpRef quotient = t.g.floordiv(u, t.c(12)), rest = t.g.floormod(u, t.c(12));
  UOpRef at = t.g.add(t.g.mul(t.g.add(t.g.mul(quotient, rows), row), t.c(12)), rest);
  UOpRef size = t.g.mul(t.g.mul(t.m, rows), t.c(12));
  CHECK(t.known.proves_below(at, size));
  CHECK_FALSE(t.known.proves_below(t.g.add(at, t.c(1)), size));
  CHECK_FALSE(t.known.proves_below(at, t.g.sub(size, t.c(12))));
  // The inner one is the one of any length, the outer one, too.
  UOpRef v = t.range(t.g.mul(t.m, rows), 2);
  CHECK(t.known.proves_below(t.g.floordiv(v, rows), t.m));
  CHECK_FALSE(t.known.proves_below(t.g.floordiv(v, rows), t.g.sub(t.m, t.c(1))));
  CHECK(t.known.proves_below(t.g.floordiv(t.g.add(v, rows), rows), t.g.add(t.m, t.c(1))));
  CHECK_FALSE(t.known.proves_below(t.g.floordiv(t.g.add(v, rows), rows), t.m));
  CHECK_FALSE(t.known.proves_below(t.g.floordiv(t.g.add(u, t.c(12)), t.c(12)), t.m));
  CHECK_FALSE(t.known.proves_below(t.g.floordiv(u, t.c(11)), t.m));
}

TEST_CASE("a window of a padded image, both lengths of which are multiples") {
  for (const std::int64_t rows_of_tile : {2, 4, 8}) {
    for (const bool sums_first : {false, true}) {  // in which order a kernel's nodes were made
      const std::int64_t channels = rows_of_tile == 2 ? 96 : 160;
      CAPTURE(rows_of_tile, sums_first);
      Case t;
      if (sums_first) {
        for (const std::int64_t axis : {4, 3, 5})
          t.range(t.c(axis == 4 ? channels : 3), static_cast<std::uint32_t>(axis));
        t.range(t.g.floordiv(t.g.var("w", 32, 960, 4), t.c(16 * rows_of_tile)), 1);
        t.range(t.c(rows_of_tile), 2);
      }
      UOpRef h = t.g.var("h", 32, 960, 3), w = t.g.var("w", 32, 960, 4);
      UOpRef rows = t.g.floordiv(h, t.c(32)), columns = t.g.floordiv(w, t.c(32));
      UOpRef tiles = t.g.floordiv(w, t.c(16 * rows_of_tile));
      UOpRef grid = t.range(t.g.mul(rows, t.c(channels / 16)), 0), y = t.g.floormod(grid, t.g.mul(rows, t.c(2)));
      UOpRef tile = t.range(tiles, 1), u = t.range(t.c(rows_of_tile), 2);
      UOpRef ky = t.range(t.c(3), 3), channel = t.range(t.c(channels), 4), kx = t.range(t.c(3), 5);
      UOpRef row = t.g.add(y, ky), column = t.g.add(t.g.add(kx, t.g.mul(tile, t.c(rows_of_tile))), u);
      UOpRef at = t.g.add(t.g.mul(t.g.mul(t.g.add(row, t.c(-1)), columns), t.c(2 * channels)), channel);
      at = t.g.add(t.g.add(at, t.g.mul(kx, t.c(channels))), t.g.mul(tile, t.c(channels * rows_of_tile)));
      at = t.g.add(t.g.add(at, t.g.mul(u, t.c(channels))), t.c(-channels));
      UOpRef size = t.g.mul(t.g.mul(rows, columns), t.c(4 * channels));
      for (UOpRef i : {row, column}) {
        t.known.assume(t.g.lt(t.c(0), i));
        t.known.assume(t.g.lt(i, t.g.add(t.g.mul(i == row ? rows : columns, t.c(2)), t.c(1))));
      }
      t.known.assume_at_least(tiles, 1);
      CHECK(t.known.proves_non_negative(at));
      CHECK(t.known.proves_below(at, size));
      CHECK_FALSE(t.known.proves_below(t.g.add(at, t.c(1)), size));
    }
  }
}

TEST_CASE("rows that threads share, whose last share is shorter") {
  for (const bool runs : {true, false}) {
    Case t;
    UOpRef h = t.g.var("h", 32, 960, 3), w = t.g.var("w", 32, 960, 4);
    UOpRef share = t.g.floordiv(t.g.add(h, t.c(64)), t.c(128)), columns = t.g.floordiv(w, t.c(32));
    UOpRef thread = t.range(t.c(2), 0), begin = t.g.mul(share, thread);
    UOpRef left = t.g.add(t.g.mul(begin, t.c(-1)), t.g.floordiv(h, t.c(64)));
    UOpRef length = t.g.binary(ir::Op::Max, t.g.binary(ir::Op::Min, left, share), t.c(0));
    UOpRef row = t.range(length, 1), u = t.range(t.c(4), 2), channel = t.range(t.c(160), 3);
    UOpRef at = t.g.add(t.g.mul(t.g.add(begin, row), t.c(4)), u);
    at = t.g.add(t.g.mul(t.g.mul(at, columns), t.c(160)), channel);
    UOpRef size = t.g.mul(t.g.mul(t.g.floordiv(h, t.c(32)), columns), t.c(320));
    if (runs) t.known.assume_at_least(length, 1);
    CHECK(t.known.proves_below(at, size));
    CHECK_FALSE(t.known.proves_below(t.g.add(at, columns), size));
  }
}

TEST_CASE("quotients of lengths and of lengths that were rounded up") {
  Case t;
  UOpRef x = t.g.var("x", 0, 1000, 3), up = t.g.floordiv(t.g.add(x, t.c(7)), t.c(8)), down = t.g.floordiv(x, t.c(8));
  UOpRef next = t.g.floordiv(t.g.add(x, t.c(8)), t.c(8)), third = t.g.floordiv(x, t.c(24));
  const auto minus = [&](UOpRef a, UOpRef b) { return t.g.add(a, t.g.mul(b, t.c(-1))); };
  CHECK(t.known.proves_non_negative(minus(up, down)));
  CHECK(t.known.proves_non_negative(t.g.add(minus(down, up), t.c(1))));
  CHECK_FALSE(t.known.proves_non_negative(minus(down, up)));
  CHECK(t.known.proves_non_negative(t.g.add(minus(next, down), t.c(-1))));
  CHECK_FALSE(t.known.proves_non_negative(t.g.add(minus(next, down), t.c(-2))));
  CHECK(t.known.proves_non_negative(minus(down, t.g.mul(third, t.c(3)))));
  CHECK(t.known.proves_non_negative(t.g.add(minus(t.g.mul(third, t.c(3)), down), t.c(2))));
  CHECK_FALSE(t.known.proves_non_negative(t.g.add(minus(t.g.mul(third, t.c(3)), down), t.c(1))));
  // Tiles of an image that end beyond it: 2 ceil(y / 2) <= y + 1 where y is x div 8.
  UOpRef tiles = t.g.floordiv(t.g.add(x, t.c(8)), t.c(16));
  CHECK(t.known.proves_non_negative(t.g.add(minus(down, t.g.mul(tiles, t.c(2))), t.c(1))));
  CHECK_FALSE(t.known.proves_non_negative(minus(down, t.g.mul(tiles, t.c(2)))));
  CHECK(t.known.proves_non_negative(minus(t.g.mul(tiles, t.c(2)), down)));
  CHECK_FALSE(t.known.proves_non_negative(t.g.add(minus(t.g.mul(tiles, t.c(2)), down), t.c(-1))));
}

TEST_CASE("squares count from the least value that is known") {
  Case t;
  UOpRef i = t.range(t.c(5), 0), at = t.g.mul(t.n, i), size = t.g.mul(t.g.mul(t.n, t.n), t.c(5));
  CHECK_FALSE(t.known.proves_below(at, size));  // n = 0
  t.known.assume_at_least(t.n, 1);
  CHECK(t.known.proves_below(at, size));
}

TEST_CASE("conditions that exclude each other prove anything; those of a branch only there") {
  Case t;
  UOpRef i = t.range(t.n, 0), never = t.g.lt(t.n, t.c(0));
  CHECK(t.known.proves_below(t.g.where(never, t.c(1000), t.c(0)), t.c(10)));
  CHECK_FALSE(t.known.proves_below(i, t.c(10)));
  t.known.assume(t.g.lt(t.g.add(t.g.floormod(t.n, t.c(4)), t.c(4)), t.c(2)));
  CHECK(t.known.proves_below(i, t.c(10)));
}

TEST_CASE("a condition proves itself, also where its factors divide") {
  Case t;
  UOpRef size = t.g.mul(t.g.mul(t.n, t.n), t.c(5));
  CHECK_FALSE(t.known.proves_below(t.c(4), size));
  t.known.assume(t.g.lt(t.c(4), size));
  CHECK(t.known.proves_below(t.c(4), size));
  CHECK_FALSE(t.known.proves_below(t.c(5), size));
}

TEST_CASE("what leaves int64 is never proved") {
  Case t;
  UOpRef huge = t.g.var("huge", 0, INT64_MAX, 3), big = t.g.mul(t.g.mul(huge, huge), t.c(INT64_MAX));
  CHECK_FALSE(t.known.proves_below(big, t.c(INT64_MAX)));
  CHECK_FALSE(t.known.proves_below(huge, t.c(INT64_MAX)));
  CHECK_FALSE(t.known.proves_non_negative(t.g.sub(t.c(0), huge)));
}

}  // namespace
}  // namespace hearth::rules
