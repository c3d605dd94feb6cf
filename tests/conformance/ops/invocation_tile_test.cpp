// Tiles of results that one invocation computes (schedule/invocation_tile): on a GPU only (HEARTH_CONFORMANCE_DEVICE).
#include <catch2/catch.hpp>

#include "tests/conformance/ops/products.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
TEST_CASE("tiles: products with lengths that are no multiple of a tile") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const auto& [rows, depth, columns] :
       {std::array{33, 17, 65}, {64, 31, 3}, {1, 40, 37}, {5, 1, 5}, {16, 16, 16}}) {
    GraphBuilder b;
    add_products(b, rows, depth, columns);
    Program program(b.graph(), tile_target());
    check_products(program, rows, depth, columns, {});
  }
}

TEST_CASE("tiles: products of any lengths, 0 and 1 among them") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  for (const std::int64_t most : {1, 6, 70}) {
    CAPTURE(most);
    GraphBuilder b;
    const Dim m = b.var("rows", 0, most), k = b.var("depth", 0, most), n = b.var("columns", 0, most);
    add_products(b, m, k, n);
    Program program(b.graph(), tile_target());
    for (const auto& [rows, depth, columns] : {std::array<std::int64_t, 3>{most, most, most},
                                               {0, 1, 1},
                                               {1, 0, 1},
                                               {1, 1, 0},
                                               {1, 1, 1},
                                               {most, 1, most - 1}})
      check_products(program, rows, depth, columns, {rows, depth, columns});
  }
}

}  // namespace hearth::conformance
