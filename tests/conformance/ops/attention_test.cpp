// Stages that live in their reader's kernel, a block of rows at a time (passes/ranged/compute_at,
// passes/kernel/block_rows), beside the reference interpreter: attention of many shapes, dtypes and forms.
#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/support/skip.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 20;
#else
constexpr int kRounds = 60;
#endif

// A dim as an expression and its value in the one feed.
struct Size {
  Dim expr;
  std::int64_t value;
};

struct Form {
  Scalar dtype = Scalar::F32;
  Size heads{1, 1}, queries{1, 1}, keys{1, 1};
  std::int64_t depth = 1, width = 1;
  bool masked = false;  // a mask of its own for every query, shared by the heads
  bool scaled = false;
  bool merged = false;      // the result as [queries, heads * width]
  bool activated = false;   // tanh of q and k: stages of their own
  bool transposed = false;  // K comes as [heads, depth, keys]
};

struct Attention {
  v1::Graph graph;
  Feed feed;
};

// What else a graph has, drawn.
void draw_rest(Random& random, std::int64_t least, Form& f) {
  f.depth = random.in(least, 9);
  f.width = random.in(least, 20);
  f.masked = random.one_in(2);
  f.scaled = random.one_in(2);
  f.merged = random.one_in(2);
  f.activated = random.one_in(3);
  f.transposed = random.one_in(3);
}

// softmax(q kT * scale + mask) v
void build(GraphBuilder& b, const Form& f, Feed& feed) {
  const v1::DType dtype = wire(f.dtype);
  auto input = [&](const std::vector<Size>& shape) {
    Dims dims;
    Shape values;
    for (const Size& s : shape) dims.push_back(s.expr), values.push_back(s.value);
    feed.inputs.push_back(uniform(f.dtype, values, feed.inputs.size() + 1));
    return b.input(dtype, dims);
  };
  const Size depth{f.depth, f.depth}, width{f.width, f.width};
  const Dims scores_shape = {f.heads.expr, f.queries.expr, f.keys.expr};
  Node q = input({f.heads, f.queries, depth});
  Node k = f.transposed ? input({f.heads, depth, f.keys}) : b.permute(input({f.heads, f.keys, depth}), {0, 2, 1});
  if (f.activated) q = b.op(v1::TANH, {q}), k = b.op(v1::TANH, {k});
  const Node v = input({f.heads, f.keys, width});
  Node scores = b.op(v1::MATMUL, {q, k});
  if (f.scaled) scores = b.op(v1::MUL, {scores, b.fill(dtype, {0, 0.25}, scores_shape)});
  if (f.masked) scores = b.op(v1::ADD, {scores, b.expand(input({{1, 1}, f.queries, f.keys}), scores_shape)});
  const Node e =
      b.op(v1::EXP, {b.op(v1::SUB, {scores, b.expand(b.reduce(v1::REDUCE_MAX, scores, {2}), scores_shape)})});
  const Node p = b.op(v1::DIV, {e, b.expand(b.reduce(v1::REDUCE_SUM, e, {2}), scores_shape)});
  Node out = b.op(v1::MATMUL, {p, v});
  if (f.merged) out = b.reshape(b.permute(out, {1, 0, 2}), {f.queries.expr, f.heads.expr * f.width});
  b.output(out);
}

TEST_CASE("attention in the kernel of its rows") {
  const std::vector<v1::Target> targets = {small_cache_target(), [] {
                                             v1::Target wide = wide_target();
                                             wide.set_l2_bytes(256);
                                             return wide;
                                           }()};
  Random random(17);
  int kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    GraphBuilder b;
    Feed feed;
    Form f;
    f.dtype = random.pick(std::vector<Scalar>{Scalar::F32, Scalar::F32, Scalar::F32, Scalar::F64, Scalar::F16});
    auto size = [&](const char* name, std::int64_t least, std::int64_t most) {
      const std::int64_t value = random.in(least, most);
      if (!random.one_in(4)) return Size{value, value};
      feed.vars.push_back(value);
      return Size{b.var(name, random.one_in(2) ? 0 : 1, value + random.in(0, 3)), value};
    };
    f.heads = size("h", 1, 3);
    f.queries = size("q", 1, 37);
    f.keys = size("k", 1, 40);
    draw_rest(random, 1, f);
    build(b, f, feed);
    CAPTURE(round);
    Program program(b.graph(), targets[round % 2]);
    program.check(feed, roundings(f.dtype, 128));
    for (const v1::KernelSpec& kernel : program.lowered().kernels())
      kept += absl::StrContains(kernel.ast(), " allocate ");
  }
  // Scores that are tiny, or operands that do not fit the cache, are not kept.
  CHECK(kept > kRounds / 4);
}

TEST_CASE("workgroups: attention in one kernel of a GPU, whatever its lengths, masks and heads") {
  if (!on_gpu()) SKIP_CASE("HEARTH_CONFORMANCE_DEVICE names no GPU");
  Random random(23);
  int kept = 0;
  for (int round = 0; round < kRounds; ++round) {
    GraphBuilder b;
    Feed feed;
    Form f;
    const auto fixed = [](std::int64_t value) { return Size{value, value}; };
    f.heads = fixed(random.in(1, 3));
    f.queries = fixed(random.pick(std::vector<std::int64_t>{1, 1, 4, 8, 12, 16, 24, 7}));
    f.keys = fixed(random.in(8, 70));
    if (random.one_in(3)) {  // a cache that grows
      feed.vars.push_back(f.keys.value);
      f.keys.expr = b.var("k", random.one_in(2) ? 0 : 1, f.keys.value + random.in(0, 3));
    }
    draw_rest(random, 2, f);
    build(b, f, feed);
    CAPTURE(round, f.heads.value, f.queries.value, f.keys.value, f.depth, f.width);
    Program program(b.graph(), shared_tile_target(random.pick(std::vector<std::uint32_t>{4, 8})));
    program.check(feed, roundings(f.dtype, 128));
    kept += program.lowered().plan().launches_size() == 1 + 2 * f.activated;
  }
  CHECK(kept > kRounds / 3);
  // Nothing is cached yet.
  GraphBuilder b;
  Feed feed;
  Form f;
  f.queries = {4, 4}, f.keys = {b.var("k", 0, 40), 0};
  f.depth = f.width = 8;
  feed.vars.push_back(0);
  build(b, f, feed);
  Program program(b.graph(), shared_tile_target(8));
  CHECK(program.lowered().plan().launches_size() == 1);
  program.check(feed, Tolerance::exact());
}

TEST_CASE("attention on GPUs with shared memory is one kernel in f32, and its products are a matrix unit's in f16") {
  const struct {
    const char* target;
    Scalar dtype;
    std::int64_t queries, keys;
    int kernels;
  } cases[] = {{"cuda:sm_90a", Scalar::F32, 512, 512, 1}, {"cuda:sm_90a", Scalar::F32, 1, 4096, 1},
               {"hip:gfx942", Scalar::F32, 512, 512, 1},  {"cuda:sm_90a", Scalar::F16, 512, 512, 3},
               {"cuda:sm_70", Scalar::F32, 64, 300, 1},   {"cuda:sm_90a", Scalar::F32, 512, 8192, 3}};
  for (const auto& c : cases) {
    GraphBuilder b;
    Feed feed;
    Form f;
    f.dtype = c.dtype;
    f.heads = {8, 8}, f.queries = {c.queries, c.queries}, f.keys = {c.keys, c.keys};
    f.depth = f.width = 64;
    f.scaled = f.masked = true;
    build(b, f, feed);
    const Program program(b.graph(), *runtime::named_target(c.target));
    CAPTURE(c.target, c.queries, c.keys, ir::to_string(c.dtype));
    CHECK(program.lowered().plan().launches_size() == c.kernels);
  }
}

TEST_CASE("large attention is two kernels: K in the order of its reads, and all the rest", "[masks]") {
  GraphBuilder b;
  Feed feed;
  Form f;
  f.heads = {8, 8}, f.queries = {512, 512}, f.keys = {512, 512};
  f.depth = f.width = 64;
  f.scaled = f.masked = f.activated = true;
  build(b, f, feed);
  Program program(b.graph(), wide_target());
  CHECK(program.lowered().plan().launches_size() <= 2);
}

TEST_CASE("long attention never stores its scores, whether its operands stay in the cache or not") {
  for (const std::int64_t keys : {2048, 4096}) {
    GraphBuilder b;
    Feed feed;
    Form f;
    f.heads = {8, 8}, f.queries = {keys, keys}, f.keys = {keys, keys};
    f.depth = f.width = 64;
    f.scaled = true;
    build(b, f, feed);
    Program program(b.graph(), wide_target());
    CAPTURE(keys);
    // K and V in the order of their reads, at most.
    CHECK(program.lowered().plan().arena_bytes() <= static_cast<std::uint64_t>(2 * 8 * keys * 64 * 4 * 9 / 8));
  }
}

}  // namespace
}  // namespace hearth::conformance
