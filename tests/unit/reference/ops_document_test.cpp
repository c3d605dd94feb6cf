// docs/ops.md names every op of ops.def: an op without a row there has no stated meaning.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "compiler/ir/uop.h"

using namespace hearth;

TEST_CASE("every op has a row in docs/ops.md") {
  const char* root = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(root != nullptr);
  std::ifstream file(std::string(root) + "/docs/ops.md");
  REQUIRE(file.good());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (int op = 0; op < ir::kNumOps; ++op) {
    const std::string name(ir::op_name(static_cast<ir::Op>(op)));
    INFO(name);
    CHECK(text.find("`" + name + "`") != std::string::npos);
  }
}
