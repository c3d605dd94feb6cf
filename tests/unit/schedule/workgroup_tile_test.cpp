// Blocks of a workgroup: they compute the same for every record, and follow its numbers.
#include "compiler/schedule/workgroup_tile.h"

#include <catch2/catch.hpp>
#include <random>

#include "compiler/ir/affine.h"
#include "compiler/schedule/opts_proto.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

v1::Target workgroups(std::uint32_t subgroup, std::uint32_t shared_bytes, std::uint32_t wanted_invocations) {
  v1::Target target;
  target.set_device("cuda");
  target.mutable_gpu()->set_subgroup_size(subgroup);
  target.mutable_gpu()->set_max_workgroup_invocations(1024);
  target.mutable_gpu()->set_shared_bytes(shared_bytes);
  target.mutable_gpu()->set_wanted_invocations(wanted_invocations);
  return target;
}

std::vector<Opt> block_of(ir::Graph& g, const Product& product, const v1::Target& target) {
  const UOpRef kernel = kernel_of(g, product);
  const schedule::KernelFacts facts(kernel, kernel->source(0), target);
  const auto axes = schedule::tile_axes(facts);
  REQUIRE(axes.has_value());
  return schedule::tile_of_workgroup(facts, *axes, target).opts;
}

// The product of the amounts of the opts of a kind.
std::int64_t product_of(const std::vector<Opt>& opts, Opt::Kind kind) {
  std::int64_t product = 1;
  for (const Opt& opt : opts) product *= opt.kind == kind ? opt.amount : 1;
  return product;
}

}  // namespace

TEST_CASE("the block that is chosen for a workgroup computes the product") {
  std::mt19937 random(4);
  const auto length = [&] { return static_cast<std::int64_t>(2 + random() % 40); };
  int blocks = 0, padded = 0;
  for (int round = 0; round < (test::kSanitizer ? 20 : 80); ++round) {
    Product p;
    p.m = length(), p.n = length(), p.k = length();
    p.a_transposed = random() % 2 == 0, p.b_transposed = random() % 2 == 0;
    v1::Target target = workgroups(1u << (random() % 6), 1024u << (random() % 6), 1u << (random() % 10));
    target.mutable_gpu()->set_register_values(1u << (random() % 6));
    target.mutable_gpu()->set_load_cost(1 + random() % 50);
    ir::Graph g;
    const std::vector<Opt> opts = block_of(g, p, target);
    INFO(p.m << "x" << p.n << "x" << p.k << to_string(opts));
    blocks += opts.empty() ? 0 : 1;
    padded += std::ranges::any_of(opts, [](const Opt& opt) { return opt.kind == Opt::Kind::PadTo; }) ? 1 : 0;
    const auto buffers = buffers_of(p, random);
    CHECK(run_with(p, opts, buffers).bytes == run_with(p, {}, buffers).bytes);
  }
  CHECK(blocks > 10);
  CHECK(padded > 5);
}

TEST_CASE("a block has as many invocations and as much shared memory as the record allows") {
  const Product large{2048, 2048, 2048, false, false};
  ir::Graph g;
  for (const std::uint32_t shared : {4096u, 16384u, 49152u}) {
    const std::vector<Opt> opts = block_of(g, large, workgroups(32, shared, 32'768));
    INFO(to_string(opts));
    CHECK(product_of(opts, Opt::Kind::Workgroup) >= 32);
    CHECK(product_of(opts, Opt::Kind::Workgroup) <= 256);
    const auto shaped = passes::share_tiles(g, *passes::apply_opts(g, kernel_of(g, large), opts), opts);
    REQUIRE(shaped.ok());
    std::int64_t bytes = 0;
    for (UOpRef x : toposort(*shaped)) bytes += x->is(Op::Allocate) ? 4 * x->as<ir::AllocationInfo>().elements : 0;
    CHECK(bytes > 0);
    CHECK(bytes <= shared);
  }
  // Few results: small tiles, so that all invocations have something to do.
  const auto copies = [&](std::uint32_t wanted) {
    const std::vector<Opt> opts = block_of(g, {512, 512, 512, false, false}, workgroups(32, 49152, wanted));
    return product_of(opts, Opt::Kind::Spread) * product_of(opts, Opt::Kind::Unroll);
  };
  CHECK(copies(1024) >= 32);
  CHECK(copies(65'536) <= 4);
}

TEST_CASE("no block without shared memory, or where a workgroup is smaller than a subgroup") {
  const Product large{512, 512, 512, false, false};
  ir::Graph g;
  CHECK(block_of(g, large, workgroups(32, 0, 1024)).empty());
  CHECK(block_of(g, large, workgroups(32, 16, 1024)).empty());
  v1::Target target = workgroups(32, 16384, 1024);
  CHECK_FALSE(block_of(g, large, target).empty());
  target.mutable_gpu()->set_max_workgroup_invocations(16);
  CHECK(block_of(g, large, target).empty());
}

TEST_CASE("neighbouring invocations copy neighbours to shared memory, whichever way an operand lies") {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      const Product product{256, 256, 256, a_transposed, b_transposed};
      ir::Graph g;
      const std::vector<Opt> opts = block_of(g, product, workgroups(32, 49152, 1024));
      INFO(to_string(opts));
      const auto shaped = passes::share_tiles(g, *passes::apply_opts(g, kernel_of(g, product), opts), opts);
      REQUIRE(shaped.ok());
      int copies = 0;
      for (UOpRef store : (*shaped)->sources) {
        if (!store->source(0)->source(0)->is(Op::Allocate)) continue;
        ++copies;
        // Up to the end of a row of the tile.
        UOpRef invocation = store->source(store->sources.size() - 1), position = store->source(1)->source(0)->source(1);
        REQUIRE(ir::is_range(invocation, ir::RangeKind::Invocation));
        std::int64_t step = 0;
        for (const ir::AffineTerm& term : ir::to_affine(position).terms) {
          if (term.atom == invocation) step = term.coefficient;
          if (term.atom->is(Op::FloorMod) && term.atom->source(0) == invocation) {
            CHECK(term.atom->source(1)->int_value() >= 4);
            step = term.coefficient;
          }
        }
        CHECK(step == 1);
      }
      CHECK(copies == 2);
    }
  }
}

}  // namespace hearth
