// Random graphs over the values at the edges of each type: NaN, infinities, both zeros, the least and greatest
// integers. Each graph runs twice, its leaves once inputs and once constants, which rules fold: both are what the
// oracle computes. HEARTH_FUZZ_GRAPHS says how many (default 200; under sanitizers 80), HEARTH_FUZZ_SEED where to
// begin.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

using ir::Scalar;

constexpr std::int64_t kElements = 26;  // as many as floats have edges

struct EdgeValue {
  Node node = 0;
  Scalar dtype = Scalar::F32;
  // Of arithmetic on floats, whose next operation may leave out the rounding between them (half precision) or round
  // both once (a multiply-add): it is not asked for more.
  bool is_rounded = false;
};

class EdgeGraph {
 public:
  EdgeGraph(std::uint64_t seed, bool constant) : random_(seed), constant_(constant) {
    for (std::int64_t k = random_.in(2, 4); k > 0; --k) leaf();
    for (std::int64_t k = random_.in(2, 9); k > 0; --k) step();
    builder_.output(values_.back().node);
    if (values_.size() > 4) builder_.output(values_[values_.size() - 2].node);
  }
  const v1::Graph& graph() const { return builder_.graph(); }
  const Feed& feed() const { return feed_; }

 private:
  Scalar any_dtype() {
    static const std::vector<Scalar> kAll = [] {
      std::vector<Scalar> all = kIntegers;
      all.insert(all.end(), kFloats.begin(), kFloats.end());
      all.insert(all.end(), kFp8.begin(), kFp8.end());
      all.push_back(Scalar::Bool);
      return all;
    }();
    return random_.pick(kAll);
  }

  void leaf() {
    const Scalar dtype = any_dtype();
    HostTensor some = edges(dtype, random_.in(0, 25));
    HostTensor tensor(dtype, {kElements});
    for (std::int64_t i = 0; i < kElements; ++i) tensor.set(i, some.get(i % some.num_elements()));
    if (constant_) {
      values_.push_back({builder_.constant(tensor), dtype, false});
    } else {
      values_.push_back({builder_.input(wire(dtype), {kElements}), dtype, false});
      feed_.inputs.push_back(std::move(tensor));
    }
  }

  EdgeValue pick() { return values_[static_cast<std::size_t>(random_.in(0, std::ssize(values_) - 1))]; }
  // In that type, cast where there is none: as a model's own cast, which rounds.
  EdgeValue of(Scalar dtype) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const EdgeValue value = pick();
      if (value.dtype == dtype && !value.is_rounded) return value;
    }
    for (const EdgeValue& value : values_) {
      if (value.dtype == dtype && !value.is_rounded) return value;
    }
    const EdgeValue value = pick();
    return value.dtype == dtype ? value : EdgeValue{builder_.cast(value.node, wire(dtype)), dtype, false};
  }

  void step() {
    const EdgeValue x = pick();
    const bool is_float = ir::is_float(x.dtype), is_bool = x.dtype == Scalar::Bool;
    switch (random_.in(0, 5)) {
      case 0: {
        const Scalar to = any_dtype();
        if (to == x.dtype || x.is_rounded) return;
        values_.push_back({builder_.cast(x.node, wire(to)), to, false});
        return;
      }
      case 1: {
        const EdgeValue y = of(x.dtype);
        if (x.is_rounded || y.is_rounded) return;
        const v1::Op op = random_.pick(std::vector<v1::Op>{v1::LT, v1::LE, v1::EQ, v1::NE});
        values_.push_back({builder_.op(op, {x.node, y.node}), Scalar::Bool, false});
        return;
      }
      case 2: {
        const EdgeValue condition = of(Scalar::Bool), y = of(x.dtype);
        values_.push_back(
            {builder_.op(v1::WHERE, {condition.node, x.node, y.node}), x.dtype, x.is_rounded || y.is_rounded});
        return;
      }
      case 3: {
        if (x.is_rounded) return;
        std::vector<v1::Op> ops = {v1::NOT};
        if (is_float) ops = {v1::NEG, v1::ABS, v1::FLOOR, v1::CEIL, v1::ROUND, v1::TRUNC, v1::SQRT};
        if (!is_float && !is_bool) ops = {v1::NEG, v1::ABS, v1::NOT};
        const v1::Op op = random_.pick(ops);
        values_.push_back({builder_.op(op, {x.node}), x.dtype, op == v1::SQRT});
        return;
      }
      default: {
        const EdgeValue y = of(x.dtype);
        if (x.is_rounded || y.is_rounded) return;
        std::vector<v1::Op> ops = {v1::AND, v1::OR, v1::XOR};
        if (is_float) ops = {v1::ADD, v1::SUB, v1::MUL, v1::DIV, v1::MAX, v1::MIN};
        if (!is_float && !is_bool) {
          ops = {v1::ADD, v1::SUB, v1::MUL, v1::MAX,      v1::MIN,      v1::AND,      v1::OR,
                 v1::XOR, v1::SHL, v1::SHR, v1::TRUNCDIV, v1::TRUNCMOD, v1::FLOORDIV, v1::FLOORMOD};
        }
        values_.push_back({builder_.op(random_.pick(ops), {x.node, y.node}), x.dtype, is_float});
        return;
      }
    }
  }

  Random random_;
  const bool constant_;
  GraphBuilder builder_;
  Feed feed_;
  std::vector<EdgeValue> values_;
};

std::uint64_t edge_setting(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST_CASE("random graphs over the edges of their types agree, of inputs and of constants") {
  const std::uint64_t count = edge_setting("HEARTH_FUZZ_GRAPHS", 70);
  const std::uint64_t first = edge_setting("HEARTH_FUZZ_SEED", 1);
  std::set<v1::Op> ops;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    INFO("HEARTH_FUZZ_SEED=" << seed);
    const v1::Target target = on_gpu() ? gpu_target() : seed % 2 == 0 ? wide_target() : host_target();
    const EdgeGraph run(seed, false), folded(seed, true);
    for (const v1::Node& node : run.graph().nodes()) ops.insert(node.op());
    Program of_inputs(run.graph(), target), of_constants(folded.graph(), target);
    for (auto& [program, feed] : {std::pair(&of_inputs, run.feed()), std::pair(&of_constants, folded.feed())}) {
      const std::string what = program->disagreement(feed, {Tolerance::exact()});
      failures += what.empty() ? 0 : 1;
      if (!what.empty()) UNSCOPED_INFO((program == &of_inputs ? "inputs\n" : "constants\n") << program->text());
      CHECK(what == "");
    }
    const auto a = of_inputs.run_reference(run.feed()), b = of_constants.run_reference(folded.feed());
    REQUIRE((a.ok() && b.ok()));
    CHECK(difference(*a, *b, tolerances_of(run.graph(), {Tolerance::exact()})) == "");
  }
  if (count >= 400) CHECK(ops.size() >= 30);
}

}  // namespace
}  // namespace hearth::conformance
