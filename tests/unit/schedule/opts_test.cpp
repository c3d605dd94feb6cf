// Opts change how a kernel runs, never what it computes: random products under random opts, packed and not, through the
// kernel interpreter before and after, bit for bit on integers.
#include <catch2/catch.hpp>
#include <random>

#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/windows.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/schedule/product.h"

namespace hearth {
namespace {

using codegen::reference::HostTensor;
using ir::UOpRef;
using schedule::Opt;

schedule::KernelFacts facts_of(UOpRef kernel, const v1::Target& target) {
  return schedule::KernelFacts(kernel, kernel->source(0), target);
}

// Under sanitizers, which make a round ten times as long, a third of them.
constexpr int kShare = test::kSanitizer ? 3 : 1;

const Product kNarrow[] = {{0, 0, 0, false, false, ir::Scalar::BF16, ir::Scalar::BF16},
                           {0, 0, 0, false, false, ir::Scalar::U8, ir::Scalar::I8},
                           {0, 0, 0, false, false, ir::Scalar::I8, ir::Scalar::U8},
                           {0, 0, 0, false, false, ir::Scalar::I8, ir::Scalar::I8},
                           {0, 0, 0, false, false, ir::Scalar::U8, ir::Scalar::U8}};

std::string text_of(const Product& p, const std::vector<Opt>& opts) {
  std::string text = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) +
                     (p.a_transposed ? " a^T" : "") + (p.b_transposed ? " b^T" : "");
  for (const Opt& opt : opts) text += " " + to_string(opt);
  return text;
}

Product random_product(std::mt19937& random, int most, Product p = {}) {
  auto size = [&] { return static_cast<std::int64_t>(1 + random() % static_cast<unsigned>(most)); };
  p.m = size(), p.n = size(), p.k = size();
  p.a_transposed = random() % 2 == 0, p.b_transposed = random() % 2 == 0;
  return p;
}

}  // namespace

TEST_CASE("random opts in random order leave what a product computes") {
  std::mt19937 random(1);
  int packed = 0, contractions = 0;
  for (int round = 0; round < 600 / kShare; ++round) {
    const bool narrow = round >= 300 / kShare;
    const Product p = random_product(random, 13, narrow ? kNarrow[round % 5] : Product{});
    std::vector<Opt> opts;
    if (narrow || random() % 4 == 0) opts.push_back({Opt::Kind::Dot, 2, p.sum() == ir::Scalar::I32 ? 4 : 2});
    auto amount = [&] { return static_cast<std::int64_t>(2 + random() % 4); };
    const std::uint32_t cut = random() % 3;
    const std::int64_t length = cut == 0 ? p.m : cut == 1 ? p.n : p.k;
    if (length > 1 && random() % 3 == 0)
      opts.push_back(
          {Opt::Kind::Split, cut, 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(length - 1))});
    const std::uint32_t lane_axis = random() % 3;
    if (random() % 3 == 0) opts.push_back({Opt::Kind::Tile, static_cast<std::uint32_t>(random() % 2), amount()});
    if (random() % 2 == 0 && lane_axis < 2) opts.push_back({Opt::Kind::PadTo, lane_axis, amount()});
    if (random() % 4 != 0) {
      opts.push_back({random() % 2 ? Opt::Kind::Lanes : Opt::Kind::Masked, lane_axis, amount()});
    }
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Unroll, static_cast<std::uint32_t>(random() % 3), amount()});
    if (random() % 4 == 0) opts.push_back({Opt::Kind::Spread, static_cast<std::uint32_t>(random() % 2), amount()});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Before, 1, 0});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Unroll, static_cast<std::uint32_t>(random() % 3), amount()});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Pack, 1, 1});
    if (random() % 2 == 0) opts.push_back({Opt::Kind::Pack, 2, 1});
    INFO(text_of(p, opts));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    packed += !opts.empty() && opts.back().kind == Opt::Kind::Pack;
    bool contracted = false;
    const HostTensor plain = run_with(p, {}, buffers), shaped = run_with(p, opts, buffers, &contracted);
    CHECK(shaped.bytes == plain.bytes);
    contractions += contracted;
  }
  CHECK(packed > 100 / kShare);
  CHECK(contractions > 50 / kShare);
}

TEST_CASE("no copy reads beyond the end of an operand whose last tile is shorter") {
  using Kind = Opt::Kind;
  std::mt19937 random(2);
  const Product p{9, 13, 13, false, true};
  const std::vector<HostTensor> buffers = buffers_of(p, random);
  for (const Opt& second : {Opt{Kind::Unroll, 0, 3}, Opt{Kind::Lanes, 0, 3}, Opt{Kind::Masked, 0, 3}}) {
    for (const std::int64_t tile : {2, 4, 5, 7}) {
      const std::vector<Opt> opts = {
          {Kind::Tile, 0, tile}, {Kind::Unroll, 0, 4}, second, {Kind::Pack, 1, 1}, {Kind::Pack, 2, 1}};
      INFO(text_of(p, opts));
      CHECK(run_with(p, opts, buffers).bytes == run_with(p, {}, buffers).bytes);
    }
  }
}

TEST_CASE("the tile that is chosen for a product computes it, for vectors of 128 to 512 bits") {
  std::mt19937 random(2);
  int tiled = 0;
  for (int round = 0; round < 60 / kShare; ++round) {
    const Product p = random_product(random, 70);
    v1::Target target;
    target.set_device("cpu");
    target.set_vector_bits(128u << (round % 3));
    target.set_threads(1 + random() % 4);
    ir::Graph g;
    const std::vector<schedule::SlotFacts> slots = {{}, {random() % 2 == 0, true}, {random() % 2 == 0, true}};
    const auto opts = schedule::tile_contraction(facts_of(kernel_of(g, p), target), slots);
    if (!opts) continue;
    ++tiled;
    INFO(text_of(p, *opts));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    CHECK(run_with(p, *opts, buffers).bytes == run_with(p, {}, buffers).bytes);
  }
  CHECK(tiled > 30 / kShare);
}

TEST_CASE("narrow products are computed by the unit of their target, others never") {
  std::mt19937 random(3);
  int contractions = 0;
  for (int round = 0; round < 60 / kShare; ++round) {
    const Product p = random_product(random, 50, kNarrow[round % 5]);
    v1::Target target;
    target.set_device("cpu");
    target.set_vector_bits(128u << (round % 3));
    target.set_threads(1);
    for (const char* feature : {"avx512vl", "avx512vnni", "avxvnni"}) target.add_features(feature);
    ir::Graph g;
    const auto opts = schedule::tile_contraction(facts_of(kernel_of(g, p), target), {{}, {true, true}, {true, true}});
    if (!opts) continue;
    INFO(text_of(p, *opts));
    const std::vector<HostTensor> buffers = buffers_of(p, random);
    bool contracted = false;
    CHECK(run_with(p, *opts, buffers, &contracted).bytes == run_with(p, {}, buffers).bytes);
    const bool unit = std::ranges::any_of(*opts, [](const Opt& o) { return o.kind == Opt::Kind::Dot; });
    CHECK(contracted == unit);
    contractions += contracted;
    // Without the instructions bytes are multiplied one by one, bf16 is widened in pairs.
    target.clear_features();
    CHECK(facts_of(kernel_of(g, p), target).unit.has_value() == (p.a == ir::Scalar::BF16));
  }
  CHECK(contractions > 30 / kShare);
  ir::Graph g;
  v1::Target all;
  all.set_device("cpu");
  for (const char* f : {"avx512vl", "avx512vnni", "avx512bf16", "amx-tile", "amx-bf16", "amx-int8"})
    all.add_features(f);
  CHECK_FALSE(facts_of(kernel_of(g, Product{64, 64, 64, false, false}), all).unit);
}

TEST_CASE("a large product gets a tile of many accumulators, its panels packed and outside of its rows") {
  v1::Target target;
  target.set_device("cpu");
  target.set_vector_bits(512);
  target.set_threads(1);
  ir::Graph g;
  const Product p{512, 512, 512, false, true};
  const auto opts = schedule::tile_contraction(facts_of(kernel_of(g, p), target), {{}, {false, true}, {true, true}});
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

namespace {

// out[o][h][w] = sum over c, i, j of weights[o][c][i][j] * image[c][h + i][w + j], kernels of 3 x 3: axes 0 (o), 1 (h),
// 2 (w), 3 (c), 4 (i), 5 (j); slots 0, 1 (image), 2 (weights).
UOpRef convolution(ir::Graph& g, std::int64_t results, std::int64_t channels, std::int64_t side) {
  auto range = [&](std::int64_t n, std::uint32_t axis) {
    return g.range(g.index(n), axis, axis < 3 ? ir::RangeKind::Loop : ir::RangeKind::Reduce);
  };
  UOpRef o = range(results, 0), h = range(side, 1), w = range(side, 2), c = range(channels, 3), i = range(3, 4),
         j = range(3, 5);
  auto step = [&](UOpRef position, std::int64_t n, UOpRef inner) { return g.add(g.mul(position, g.index(n)), inner); };
  auto index = [&](std::uint32_t slot, UOpRef position) {
    return g.make(Op::Index, ir::Scalar::Void,
                  {g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{slot}), position, g.boolean(true)});
  };
  UOpRef image = index(1, step(step(c, side + 2, g.add(h, i)), side + 2, g.add(w, j)));
  UOpRef weights = index(2, step(step(step(o, channels, c), 3, i), 3, j));
  UOpRef product = g.mul(g.make(Op::Load, ir::Scalar::F32, {weights}), g.make(Op::Load, ir::Scalar::F32, {image}));
  UOpRef sum = g.make(Op::Reduce, ir::Scalar::F32, {product, c, i, j}, ir::ReduceInfo{ir::ReduceKind::Sum, {}});
  UOpRef store = g.make(Op::Store, ir::Scalar::Void, {index(0, step(step(o, side, h), side, w)), sum, o, h, w});
  return g.make(Op::Sink, ir::Scalar::Void, {store});
}

// out[h][w][c] = sum over i, j of image[h + i][w + j][c] * weights[c][i][j], channels innermost: axes 0 (h), 1 (w), 2
// (c), 3 (i), 4 (j); slots 0, 1 (image), 2 (weights).
UOpRef depthwise(ir::Graph& g, std::int64_t channels, std::int64_t side) {
  auto range = [&](std::int64_t n, std::uint32_t axis) {
    return g.range(g.index(n), axis, axis < 3 ? ir::RangeKind::Loop : ir::RangeKind::Reduce);
  };
  UOpRef h = range(side, 0), w = range(side, 1), c = range(channels, 2), i = range(3, 3), j = range(3, 4);
  auto step = [&](UOpRef position, std::int64_t n, UOpRef inner) { return g.add(g.mul(position, g.index(n)), inner); };
  auto index = [&](std::uint32_t slot, UOpRef position) {
    return g.make(Op::Index, ir::Scalar::Void,
                  {g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{slot}), position, g.boolean(true)});
  };
  UOpRef image = index(1, step(step(g.add(h, i), side + 2, g.add(w, j)), channels, c));
  UOpRef weights = index(2, step(step(c, 3, i), 3, j));
  UOpRef product = g.mul(g.make(Op::Load, ir::Scalar::F32, {weights}), g.make(Op::Load, ir::Scalar::F32, {image}));
  UOpRef sum = g.make(Op::Reduce, ir::Scalar::F32, {product, i, j}, ir::ReduceInfo{ir::ReduceKind::Sum, {}});
  UOpRef store = g.make(Op::Store, ir::Scalar::Void, {index(0, step(step(h, side, w), channels, c)), sum, h, w, c});
  return g.make(Op::Sink, ir::Scalar::Void, {store});
}

bool has(const std::vector<Opt>& opts, Opt::Kind kind, std::uint32_t axis, std::int64_t amount) {
  return std::ranges::any_of(opts,
                             [&](const Opt& o) { return o.kind == kind && o.axis == axis && o.amount == amount; });
}

}  // namespace

TEST_CASE("a depthwise convolution runs along channels, its window written out for neighbours of a line") {
  const v1::Target target = target_of(512);
  const std::vector<schedule::SlotFacts> slots = {{}, {false, true}, {true, true}};
  ir::Graph g;
  const auto opts = schedule::tile_windows(facts_of(depthwise(g, 96, 14), target), slots);
  REQUIRE(opts.has_value());
  CHECK(has(*opts, Opt::Kind::Lanes, 2, 16));
  CHECK(has(*opts, Opt::Kind::Unroll, 1, 7));  // the most of up to eight that divide 14
  CHECK(has(*opts, Opt::Kind::Unroll, 3, 3));
  CHECK(has(*opts, Opt::Kind::Unroll, 4, 3));
  CHECK(has(*opts, Opt::Kind::Pack, 2, 1));  // weights, in the order of channels
  // What an image's element is to all channels of a convolution it is to none of another place.
  CHECK_FALSE(schedule::tile_windows(facts_of(convolution(g, 32, 3, 14), target), slots).has_value());
}

TEST_CASE("the sum over three channels of a first convolution has no loop, that over 64 has") {
  const v1::Target target = target_of(512);
  const auto is_written_out = [&](std::int64_t channels) {
    ir::Graph g;
    const auto opts = schedule::tile_contraction(facts_of(convolution(g, 32, channels, 112), target),
                                                 {{}, {false, true}, {true, true}});
    REQUIRE(opts.has_value());
    return has(*opts, Opt::Kind::Unroll, 3, channels) && has(*opts, Opt::Kind::Unroll, 4, 3) &&
           has(*opts, Opt::Kind::Unroll, 5, 3);
  };
  CHECK(is_written_out(3));
  CHECK_FALSE(is_written_out(64));
}

TEST_CASE("a convolution reads an image larger than the cache once: its lines are outside of the channels") {
  v1::Target target = target_of(512);
  target.set_l2_bytes(1 << 20);
  const auto lines_first = [&](std::int64_t results, std::int64_t channels, std::int64_t side) {
    ir::Graph g;
    const auto opts = schedule::tile_contraction(facts_of(convolution(g, results, channels, side), target),
                                                 {{}, {false, true}, {true, true}});
    REQUIRE(opts.has_value());
    return std::ranges::any_of(
        *opts, [](const Opt& o) { return o.kind == Opt::Kind::Before && o.axis == 1 && o.amount == 0; });
  };
  CHECK(lines_first(32, 64, 256));         // 17 MiB of image; a line of all channels is 200 KiB
  CHECK_FALSE(lines_first(32, 64, 32));    // 300 KiB stay in the cache by themselves
  CHECK_FALSE(lines_first(512, 512, 28));  // 9 MiB of weights would be read for every line
  CHECK_FALSE(lines_first(4, 64, 256));    // one tile of channels reads the image once as it is
}

TEST_CASE("a transposing copy works on square blocks, where there is a whole one") {
  v1::Target target;
  target.set_device("cpu");
  target.set_vector_bits(512);
  auto opts_of = [&](std::int64_t rows, std::int64_t columns) {
    ir::Graph g;
    UOpRef row = g.range(g.index(rows), 0, ir::RangeKind::Loop),
           column = g.range(g.index(columns), 1, ir::RangeKind::Loop);
    auto at = [&](std::uint32_t slot, bool transposed) {
      UOpRef param = g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{slot});
      UOpRef position = hearth::at(g, row, column, rows, columns, transposed);
      return g.make(Op::Index, ir::Scalar::Void, {param, position, g.boolean(true)});
    };
    UOpRef value = g.make(Op::Load, ir::Scalar::F32, {at(1, true)});
    UOpRef store = g.make(Op::Store, ir::Scalar::Void, {at(0, false), value, row, column});
    return schedule::heuristic_cpu(g.make(Op::Sink, ir::Scalar::Void, {store}), target, 0, {});
  };
  auto text = [](const std::vector<Opt>& opts) {
    std::string all;
    for (const Opt& opt : opts) all += to_string(opt) + " ";
    return all;
  };
  CHECK(text(opts_of(64, 32)) == "LANES(1, 16) UNROLL(0, 16) ");
  CHECK(text(opts_of(60, 32)) == "LANES(1, 16) UNROLL(0, 16) ");  // and gathers 12 rows
  CHECK(text(opts_of(15, 32)) == "LANES(1, 16) ");
}

TEST_CASE("rows that are concatenated are stored a part at a time, and no part has a condition") {
  v1::Target target;
  target.set_device("cpu");
  target.set_vector_bits(512);
  ir::Graph g;
  UOpRef row = g.range(g.index(9), 0, ir::RangeKind::Loop), column = g.range(g.index(64), 1, ir::RangeKind::Loop);
  auto at = [&](std::uint32_t slot, UOpRef first, UOpRef gate) {
    UOpRef param = g.make(Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{slot});
    UOpRef position = g.add(g.mul(g.add(row, first), g.index(64)), column);
    return g.make(Op::Index, ir::Scalar::Void, {param, position, gate});
  };
  auto before = [&](std::int64_t end) { return g.lt(row, g.index(end)); };
  auto load = [&](UOpRef index) { return g.make(Op::Load, ir::Scalar::F32, {index}); };
  UOpRef later = g.lt(g.index(4), row), middle = g.binary(Op::And, g.lt(g.index(0), row), before(5));
  UOpRef value = g.where(before(1), load(at(1, g.index(0), before(1))),
                         g.where(before(5), load(at(2, g.index(-1), middle)), load(at(3, g.index(-5), later))));
  UOpRef store = g.make(Op::Store, ir::Scalar::Void, {at(0, g.index(0), g.boolean(true)), value, row, column});
  UOpRef kernel = g.make(Op::Sink, ir::Scalar::Void, {store});
  const std::vector<Opt> opts = schedule::heuristic_cpu(kernel, target, 0, {});
  std::string text;
  for (const Opt& opt : opts) text += to_string(opt) + " ";
  CHECK(text == "LANES(1, 16) SPLIT(0, 5) SPLIT(0, 1) ");
  const absl::StatusOr<UOpRef> shaped = passes::apply_opts(g, kernel, opts);
  REQUIRE(shaped.ok());
  CHECK((*shaped)->sources.size() == 3);
  for (UOpRef x : ir::toposort(*shaped)) CHECK_FALSE((x->is(Op::Where) || x->is(Op::Lt)));
}

}  // namespace hearth
