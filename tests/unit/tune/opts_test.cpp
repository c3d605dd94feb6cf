// Opts change how a kernel runs, never what it computes: random products under random opts, packed and not, through the
// kernel interpreter before and after, bit for bit on integers.
#include <catch2/catch.hpp>
#include <random>

#include "compiler/codegen/reference/kernel_interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/passes/apply_opts.h"
#include "compiler/passes/expand.h"
#include "compiler/passes/pack_operands.h"
#include "compiler/tune/contraction.h"

namespace hearth {
namespace {

using codegen::reference::HostTensor;
using codegen::reference::interpret_kernel;
using ir::Op;
using ir::UOpRef;
using tune::Opt;

struct Product {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};

UOpRef at(ir::Graph& g, UOpRef row, UOpRef column, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? g.add(g.mul(column, g.index(rows)), row) : g.add(g.mul(row, g.index(columns)), column);
}

// out[m][n] = sum over k of a[m][k] * b[k][n], axes 0 (m), 1 (n), 2 (k); slots 0, 1, 2.
UOpRef kernel_of(ir::Graph& g, const Product& p) {
  auto param = [&](std::uint32_t slot) { return g.make(Op::Param, ir::Scalar::I32, {}, ir::ParamInfo{slot}); };
  auto index = [&](std::uint32_t slot, UOpRef position) {
    return g.make(Op::Index, ir::Scalar::Void, {param(slot), position, g.boolean(true)});
  };
  UOpRef m = g.range(g.index(p.m), 0, ir::RangeKind::Loop), n = g.range(g.index(p.n), 1, ir::RangeKind::Loop);
  UOpRef k = g.range(g.index(p.k), 2, ir::RangeKind::Reduce);
  UOpRef a = g.make(Op::Load, ir::Scalar::I32, {index(1, at(g, m, k, p.m, p.k, p.a_transposed))});
  UOpRef b = g.make(Op::Load, ir::Scalar::I32, {index(2, at(g, k, n, p.k, p.n, p.b_transposed))});
  UOpRef sum = g.make(Op::Reduce, ir::Scalar::I32, {g.mul(a, b), k}, ir::ReduceInfo{ir::ReduceKind::Sum, {}});
  UOpRef store = g.make(Op::Store, ir::Scalar::Void, {index(0, at(g, m, n, p.m, p.n, false)), sum, m, n});
  return g.make(Op::Sink, ir::Scalar::Void, {store});
}

HostTensor random_tensor(std::int64_t elements, std::mt19937& random) {
  HostTensor t(ir::Scalar::I32, {elements});
  for (auto& byte : t.bytes) byte = static_cast<std::uint8_t>(random());
  return t;
}

std::vector<HostTensor> buffers_of(const Product& p, std::mt19937& random) {
  return {HostTensor(ir::Scalar::I32, {p.m * p.n}), random_tensor(p.m * p.k, random), random_tensor(p.k * p.n, random)};
}

// Opts and packing applied, the copies made, the expanded kernel interpreted on `buffers`.
HostTensor run_with(const Product& p, const std::vector<Opt>& opts, std::vector<HostTensor> buffers) {
  ir::Graph g;
  auto shaped = passes::apply_opts(g, kernel_of(g, p), opts);
  INFO(shaped.status());
  REQUIRE(shaped.ok());
  std::vector<std::uint32_t> slots;
  for (const Opt& opt : opts) {
    if (opt.kind == Opt::Kind::Pack) slots.push_back(opt.axis);
  }
  auto packed = passes::pack_operands(g, *shaped, slots, 3);
  REQUIRE(packed.ok());
  for (const passes::PackedOperand& operand : packed->packed) {
    REQUIRE(operand.slot == buffers.size());
    // Not zeros, so that an element the copy forgets is noticed.
    std::mt19937 other(7);
    std::vector<HostTensor> copy = {random_tensor(operand.elements, other), buffers[operand.source_slot]};
    for (UOpRef kernel : operand.kernels) {
      const absl::Status status = interpret_kernel(kernel, {.buffers = copy, .vars = {}, .grid = {}});
      INFO(status);
      REQUIRE(status.ok());
    }
    buffers.push_back(copy[0]);
  }
  auto expanded = passes::expand(g, packed->kernel);
  REQUIRE(expanded.ok());
  for (UOpRef kernel : {packed->kernel, *expanded}) {
    std::mt19937 other(8);
    buffers[0] = random_tensor(p.m * p.n, other);
    const absl::Status status = interpret_kernel(kernel, {.buffers = buffers, .vars = {}, .grid = {}});
    INFO(status << "\n" << ir::print(kernel));
    REQUIRE(status.ok());
    if (kernel == packed->kernel) buffers.push_back(buffers[0]);
  }
  CHECK(buffers[0].bytes == buffers.back().bytes);  // expanded or not
  return buffers[0];
}

std::string text_of(const Product& p, const std::vector<Opt>& opts) {
  std::string text = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) +
                     (p.a_transposed ? " a^T" : "") + (p.b_transposed ? " b^T" : "");
  for (const Opt& opt : opts) text += " " + to_string(opt);
  return text;
}

Product random_product(std::mt19937& random, int most) {
  auto size = [&] { return static_cast<std::int64_t>(1 + random() % static_cast<unsigned>(most)); };
  return {size(), size(), size(), random() % 2 == 0, random() % 2 == 0};
}

}  // namespace

TEST_CASE("random opts in random order leave what a product computes") {
  std::mt19937 random(1);
  int packed = 0;
  for (int round = 0; round < 400; ++round) {
    const Product p = random_product(random, 13);
    std::vector<Opt> opts;
    auto amount = [&] { return static_cast<std::int64_t>(2 + random() % 4); };
    const std::uint32_t lane_axis = random() % 3;
    if (random() % 3 == 0) opts.push_back({Opt::Kind::Block, static_cast<std::uint32_t>(random() % 2), amount()});
    if (random() % 2 == 0 && lane_axis < 2) opts.push_back({Opt::Kind::PadTo, lane_axis, amount()});
    if (random() % 4 != 0) {
      opts.push_back({random() % 2 ? Opt::Kind::Lanes : Opt::Kind::Masked, lane_axis, amount()});
    }
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Unroll, static_cast<std::uint32_t>(random() % 3), amount()});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Before, 1, 0});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Unroll, static_cast<std::uint32_t>(random() % 3), amount()});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Pack, 1, 1});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Pack, 2, 1});
    INFO(text_of(p, opts));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    packed += !opts.empty() && opts.back().kind == Opt::Kind::Pack;
    const HostTensor plain = run_with(p, {}, buffers), shaped = run_with(p, opts, buffers);
    CHECK(shaped.bytes == plain.bytes);
  }
  CHECK(packed > 100);
}

TEST_CASE("the tile that is chosen for a product computes it, for vectors of 128 to 512 bits") {
  std::mt19937 random(2);
  int tiled = 0;
  for (int round = 0; round < 60; ++round) {
    const Product p = random_product(random, 70);
    v1::Target target;
    target.set_vector_bits(128u << (round % 3));
    target.set_threads(1 + random() % 4);
    ir::Graph g;
    const std::vector<bool> once = {false, random() % 2 == 0, random() % 2 == 0};
    const auto opts = tune::tile_contraction(tune::KernelFacts(kernel_of(g, p), target), once);
    if (!opts) continue;
    ++tiled;
    INFO(text_of(p, *opts));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    CHECK(run_with(p, *opts, buffers).bytes == run_with(p, {}, buffers).bytes);
  }
  CHECK(tiled > 30);
}

TEST_CASE("a large product gets a tile of many accumulators, its panels packed and outside of its rows") {
  v1::Target target;
  target.set_vector_bits(512);
  target.set_threads(1);
  ir::Graph g;
  const Product p{512, 512, 512, false, true};
  const auto opts = tune::tile_contraction(tune::KernelFacts(kernel_of(g, p), target), {false, false, true});
  REQUIRE(opts);
  INFO(text_of(p, *opts));
  auto amount_of = [&](Opt::Kind kind, std::uint32_t axis) {
    for (const Opt& opt : *opts) {
      if (opt.kind == kind && opt.axis == axis) return opt.amount;
    }
    return std::int64_t{0};
  };
  CHECK(amount_of(Opt::Kind::Lanes, 1) == 16);
  const std::int64_t rows = amount_of(Opt::Kind::Unroll, 0), columns = amount_of(Opt::Kind::Unroll, 1);
  CHECK(rows * columns >= 16);
  CHECK(rows * columns + columns + 2 <= 32);
  CHECK(amount_of(Opt::Kind::Pack, 2) == 1);
  CHECK(amount_of(Opt::Kind::Pack, 1) == 0);
  CHECK(std::any_of(opts->begin(), opts->end(),
                    [](const Opt& o) { return o.kind == Opt::Kind::Before && o.axis == 1 && o.amount == 0; }));
}

}  // namespace hearth
