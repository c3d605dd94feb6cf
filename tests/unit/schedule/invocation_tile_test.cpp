// Tiles of one invocation: they compute the same for every record, and follow its numbers.
#include "compiler/schedule/invocation_tile.h"

#include <catch2/catch.hpp>
#include <random>

#include "compiler/ir/affine.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

using schedule::Opt;

v1::Target gpu(std::uint32_t register_values, std::uint32_t wanted_invocations, std::uint32_t load_cost) {
  v1::Target target;
  target.set_device("vulkan");
  target.mutable_gpu()->set_register_values(register_values);
  target.mutable_gpu()->set_wanted_invocations(wanted_invocations);
  target.mutable_gpu()->set_load_cost(load_cost);
  return target;
}

std::vector<Opt> tile_of(const Product& product, const v1::Target& target) {
  ir::Graph g;
  const ir::UOpRef kernel = kernel_of(g, product);
  const schedule::KernelFacts facts(kernel, kernel->source(0), target);
  const auto axes = schedule::tile_axes(facts);
  REQUIRE(axes.has_value());
  return schedule::tile_of_invocation(facts, *axes, target).opts;
}

std::string text_of(const std::vector<Opt>& opts) {
  std::string text;
  for (const Opt& opt : opts) text += " " + to_string(opt);
  return text;
}

std::int64_t results_of(const std::vector<Opt>& opts) {
  std::int64_t results = 1;
  for (const Opt& opt : opts) results *= opt.kind == Opt::Kind::PadTo ? 1 : opt.amount;
  return results;
}

}  // namespace

TEST_CASE("the tile that is chosen for an invocation computes the product") {
  std::mt19937 random(4);
  const auto length = [&] { return static_cast<std::int64_t>(1 + random() % 40); };
  int tiled = 0, padded = 0;
  for (int round = 0; round < (test::kSanitizer ? 20 : 80); ++round) {
    Product p;
    p.m = length(), p.n = length(), p.k = length();
    p.a_transposed = random() % 2 == 0, p.b_transposed = random() % 2 == 0;
    const std::vector<Opt> opts = tile_of(p, gpu(4u << (random() % 7), 1u << (random() % 10), 1 + random() % 20));
    INFO(p.m << "x" << p.n << "x" << p.k << text_of(opts));
    tiled += opts.empty() ? 0 : 1;
    padded += std::ranges::any_of(opts, [](const Opt& opt) { return opt.kind == Opt::Kind::PadTo; }) ? 1 : 0;
    const auto buffers = buffers_of(p, random);
    CHECK(run_with(p, opts, buffers).bytes == run_with(p, {}, buffers).bytes);
  }
  CHECK(tiled > 10);
  CHECK(padded > 5);
}

TEST_CASE("a tile is as large as the record lets sums be kept, and smaller where too few invocations would be left") {
  const Product large{512, 512, 512, false, false};
  CHECK(results_of(tile_of(large, gpu(256, 128, 16))) == 256);
  CHECK(results_of(tile_of(large, gpu(64, 128, 16))) == 64);
  CHECK(results_of(tile_of(large, gpu(16, 128, 16))) == 16);
  // 512 * 512 results for 65,536 invocations.
  CHECK(results_of(tile_of(large, gpu(64, 65'536, 4))) <= 4);
  const std::int64_t of_more = results_of(tile_of({4096, 4096, 512, false, false}, gpu(64, 65'536, 4)));
  CHECK(of_more == 64);
  // A record that says nothing has the usual numbers.
  v1::Target silent;
  silent.set_device("cuda");
  CHECK(text_of(tile_of(large, silent)) == text_of(tile_of(large, gpu(64, 32'768, 4))));
}

TEST_CASE("a product of one row has a tile along it") {
  const std::vector<Opt> row = tile_of({1, 512, 512, false, false}, gpu(64, 16, 16));
  CHECK(results_of(row) >= 4);
  CHECK(results_of(row) <= 16);
}

TEST_CASE("a tile is of neighbouring columns where loads of invocations are not joined") {
  v1::Target target = gpu(64, 8, 16);
  const Product product{64, 64, 32, false, false};
  const auto kind = [&] {
    const std::vector<Opt> opts = tile_of(product, target);
    REQUIRE(opts.size() == 2);
    return opts.front().kind;
  };
  CHECK(kind() == Opt::Kind::Spread);
  target.mutable_gpu()->set_single_loads(true);
  CHECK(kind() == Opt::Kind::Unroll);
}

TEST_CASE("neighbouring invocations load and store neighbours, whatever the tile") {
  for (const Product& product : {Product{64, 64, 32, false, false}, Product{30, 50, 7, false, false}}) {
    const std::vector<Opt> opts = tile_of(product, gpu(64, 8, 16));
    INFO(text_of(opts));
    REQUIRE(results_of(opts) >= 16);
    ir::Graph g;
    const auto shaped = passes::apply_opts(g, kernel_of(g, product), opts);
    REQUIRE(shaped.ok());
    const auto kernel = passes::expand(g, *shaped);
    REQUIRE(kernel.ok());
    int apart = 0;
    for (UOpRef x : toposort(*kernel)) {
      if (!x->is(Op::Index)) continue;
      for (const ir::AffineTerm& term : ir::to_affine(x->source(1)).terms) {
        const bool is_column = ir::is_loop(term.atom) && term.atom->as<ir::RangeInfo>().axis == 1;
        // The first operand's element is the same for neighbours; others are beside each other.
        if (!is_column) continue;
        CHECK(term.coefficient == 1);
        ++apart;
      }
    }
    CHECK(apart >= 2);
  }
}

}  // namespace hearth
