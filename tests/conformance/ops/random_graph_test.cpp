// Random graphs, five targets in turn: 128, 256 and 512 bits, 256 with a tiny cache, and with three threads; or three of a
// GPU: as it is, with workgroups for the smallest rows, and with tiles for the smallest products.
// HEARTH_FUZZ_GRAPHS says how many (default 100, of loops 40), HEARTH_FUZZ_SEED where to
// begin (default 1): HEARTH_FUZZ_GRAPHS=1 HEARTH_FUZZ_SEED=<printed seed> repeats one.
#include <catch2/catch.hpp>
#include <set>

#include "tests/conformance/ops/random_loop.h"

namespace hearth::conformance {
namespace {

std::vector<v1::Target> targets_in_turn() {
  if (on_gpu()) return {gpu_target(), workgroup_target(2), tile_target(), shared_tile_target(2)};
  return {baseline_target(), host_target(), wide_target(), small_cache_target(), threaded_target()};
}

TEST_CASE("random graphs agree in every execution") {
  const std::uint64_t count = number_from("HEARTH_FUZZ_GRAPHS", 100);
  const std::uint64_t first = number_from("HEARTH_FUZZ_SEED", 1);
  const std::vector<v1::Target> targets = targets_in_turn();
  std::set<v1::Op> ops;
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    INFO("HEARTH_FUZZ_SEED=" << seed);
    const RandomGraph random = random_graph(seed);
    for (const v1::Node& node : random.graph.nodes()) ops.insert(node.op());
    const std::string what = find_disagreement(random, targets[seed % targets.size()]);
    CHECK(what == "");
    failures += what.empty() ? 0 : 1;
  }
  WARN(count << " random graphs from seed " << first << ", " << ops.size() << " different ops");
  if (count >= 300) CHECK(ops.size() > 45);
}

TEST_CASE("random loops agree in every execution") {
  const std::uint64_t count = number_from("HEARTH_FUZZ_GRAPHS", 40);
  const std::uint64_t first = number_from("HEARTH_FUZZ_SEED", 1);
  const std::vector<v1::Target> targets = targets_in_turn();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("HEARTH_FUZZ_SEED=" << seed);
    CHECK(find_disagreement(random_loop(seed), targets[seed % targets.size()]) == "");
  }
}

// A gather by u64 indices beyond int64; a gate that held a range of its own for a loop's axis; a sum whose loop may not
// run at all; a stage that fuse left as an empty stand-in; a packed parameter that may have no elements; a stage that
// rangeify rewrote below the position of a gather.
TEST_CASE("random graphs that once disagreed") {
  const std::pair<std::uint64_t, Palette> graphs[] = {{500987, Palette::kBeforeFp8},    {502151, Palette::kBeforeFp8},
                                                      {500969, Palette::kBeforeFp8},    {210, Palette::kBeforeFp8},
                                                      {902914, Palette::kBeforeFp8},    {1300371, Palette::kBeforeFp8},
                                                      {700818, Palette::kBeforeScatter}};
  for (const auto& [seed, palette] : graphs) {
    for (const v1::Target& target : targets_in_turn()) {
      INFO("HEARTH_FUZZ_SEED=" << seed << ", " << target.vector_bits() << " bits");
      CHECK(find_disagreement(random_graph(seed, palette), target) == "");
    }
  }
}

TEST_CASE("a graph's seed says all about it") {
  CHECK(random_graph(7).graph.SerializeAsString() == random_graph(7).graph.SerializeAsString());
  CHECK(random_graph(7).graph.SerializeAsString() != random_graph(8).graph.SerializeAsString());
}

}  // namespace
}  // namespace hearth::conformance
