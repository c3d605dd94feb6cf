// The moves of the search: the same in every run, each once, and whichever is legal computes the same.
#include "compiler/schedule/search.h"

#include <algorithm>
#include <set>

#include "compiler/schedule/contraction.h"
#include "compiler/schedule/opts_proto.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

const std::vector<schedule::SlotFacts> kFacts = {{}, {false, true}, {true, true}};

std::vector<Opt> heuristic(const Product& p, const v1::Target& target) {
  ir::Graph g;
  UOpRef kernel = kernel_of(g, p);
  return schedule::heuristic_cpu(kernel, target, 2.0 * static_cast<double>(p.m * p.n * p.k), kFacts);
}

std::vector<std::vector<Opt>> near(const Product& p, const v1::Target& target, const std::vector<Opt>& opts) {
  ir::Graph g;
  return schedule::neighbours(kernel_of(g, p), target, {kFacts, true, opts});
}

}  // namespace

TEST_CASE("neighbours: deterministic, distinct, never what they start from") {
  for (const std::uint32_t bits : {128u, 256u, 512u}) {
    const Product p{512, 512, 512, false, true};
    const v1::Target target = target_of(bits);
    const std::vector<Opt> opts = heuristic(p, target);
    const auto first = near(p, target, opts), second = near(p, target, opts);
    REQUIRE(first.size() == second.size());
    std::set<std::string> seen = {schedule::to_string(opts)};
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(schedule::to_string(first[i]) == schedule::to_string(second[i]));
      INFO(schedule::to_string(first[i]));
      CHECK(seen.insert(schedule::to_string(first[i])).second);
    }
    CHECK(first.size() > 20);
  }
}

TEST_CASE("neighbours of a large product: other tiles, another axis, order, packing, unrolled depth") {
  const Product p{512, 512, 512, false, true};
  const v1::Target target = target_of(512);
  const std::vector<Opt> opts = heuristic(p, target);
  const auto all = near(p, target, opts);
  auto amount = [](const std::vector<Opt>& list, Opt::Kind kind, std::uint32_t axis) {
    for (const Opt& o : list) {
      if (o.kind == kind && o.axis == axis) return o.amount;
    }
    return std::int64_t{1};
  };
  auto any = [&](auto good) { return std::any_of(all.begin(), all.end(), good); };
  using Kind = Opt::Kind;
  const std::int64_t rows = amount(opts, Kind::Unroll, 0), columns = amount(opts, Kind::Unroll, 1);
  REQUIRE(rows > 1);
  CHECK(any(
      [&](const auto& o) { return amount(o, Kind::Unroll, 0) == rows + 1 && amount(o, Kind::Unroll, 1) == columns; }));
  CHECK(any(
      [&](const auto& o) { return amount(o, Kind::Unroll, 0) == rows - 1 && amount(o, Kind::Unroll, 1) == columns; }));
  CHECK(any([&](const auto& o) { return amount(o, Kind::Unroll, 1) == columns + 1; }));
  CHECK(any([&](const auto& o) { return amount(o, Kind::Lanes, 0) == 16; }));
  CHECK(any([&](const auto& o) { return amount(o, Kind::Unroll, 2) == 4; }));
  auto has = [](const std::vector<Opt>& list, Kind kind, std::uint32_t axis) {
    return std::any_of(list.begin(), list.end(), [&](const Opt& o) { return o.kind == kind && o.axis == axis; });
  };
  for (const std::uint32_t slot : {1u, 2u}) {
    CHECK(any([&](const auto& o) { return has(o, Kind::Pack, slot) != has(opts, Kind::Pack, slot); }));
  }
  CHECK(any([&](const auto& o) { return has(o, Kind::Before, 1) != has(opts, Kind::Before, 1); }));
}

TEST_CASE("candidates for random products compute them, one and two moves away") {
  std::mt19937 random(5);
  int right = 0, refused = 0;
  for (int round = 0; round < 24; ++round) {
    auto size = [&] { return static_cast<std::int64_t>(1 + random() % 21); };
    const Product p{size(), size(), size(), random() % 2 == 0, random() % 2 == 0};
    const v1::Target target = target_of(128u << (round % 3));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    const HostTensor wanted = run_with(p, {}, buffers);
    std::vector<Opt> from = heuristic(p, target);
    for (int distance = 1; distance <= 2; ++distance) {
      const auto all = near(p, target, from);
      if (all.empty()) break;
      for (int pick = 0; pick < 8; ++pick) {
        const std::vector<Opt>& opts = all[random() % all.size()];
        INFO(p.m << "x" << p.n << "x" << p.k << " " << schedule::to_string(opts));
        ir::Graph g;
        const auto applied = passes::apply_opts(g, kernel_of(g, p), opts);
        if (!applied.ok() || !passes::expand(g, *applied).ok()) {
          ++refused;  // as lowering would
          continue;
        }
        ++right;
        CHECK(run_with(p, opts, buffers).bytes == wanted.bytes);
      }
      from = all[random() % all.size()];
    }
  }
  CAPTURE(right, refused);
  CHECK(right > 200);
  CHECK(refused < right / 4);
}

}  // namespace hearth
