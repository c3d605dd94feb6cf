#include "command_line/nearest.h"

#include <catch2/catch.hpp>

using hearth::command_line::nearest;

TEST_CASE("the nearest word is one that a slip of the fingers makes of the other") {
  const std::vector<std::string> known = {"run", "export", "explain", "stats", "prewarm"};
  CHECK(nearest("rnu", known) == "run");         // two letters swapped
  CHECK(nearest("stat", known) == "stats");      // one left out
  CHECK(nearest("exporrt", known) == "export");  // one too many
  CHECK(nearest("prawram", known) == "prewarm");
  CHECK(nearest("run", known) == "run");
}

TEST_CASE("words that are far from all others have no nearest one") {
  CHECK(nearest("fly", {"run", "tune"}).empty());
  CHECK(nearest("", {"run"}).empty());
  CHECK(nearest("x", {}).empty());
  CHECK(nearest(std::string(1'000'000, 'r'), {"run"}).empty());  // at once
}
