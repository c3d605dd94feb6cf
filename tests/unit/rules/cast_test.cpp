// Constants of fp8 fold to what the reference computes. And cast_cast over every triple of dtypes: where two casts
// become one, all values of the first dtype (at a stride for the wide ones) must come out the same, by the reference
// semantics; and the exact widenings must be found.
#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/codegen/reference/element.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/ir/text.h"
#include "compiler/rewrite/fold.h"
#include "compiler/rules/rules.h"

using namespace hearth;
using codegen::reference::Element;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

namespace {

Element cast(Scalar to, Scalar from, Element x) {
  return to == from ? x : codegen::reference::evaluate(Op::Cast, to, from, std::span(&x, 1)).value();
}

// Bits of `scalar`: all of them up to 8 bits, else about a thousand, extremes included.
std::vector<std::uint64_t> patterns(Scalar scalar) {
  const int width = scalar == Scalar::Bool ? 1 : ir::bit_width(scalar);
  const std::uint64_t last = ~std::uint64_t{0} >> (64 - width), step = width <= 8 ? 1 : last / 997;
  std::vector<std::uint64_t> bits = {last};
  for (std::uint64_t at = 0; at <= last - step + 1 && bits.size() < 1100; at += step) bits.push_back(at);
  return bits;
}

struct Chain {
  ir::Graph graph;
  UOpRef root, simple;
  Chain(Scalar a, Scalar b, Scalar c) {
    root = graph.cast(graph.cast(graph.make(Op::Param, a, {}, ir::ParamInfo{0}), b), c);
    simple = rules::simplify(graph, root).value();
  }
  // The dtypes of the casts that are left, innermost first.
  std::vector<Scalar> left() const {
    std::vector<Scalar> casts;
    for (UOpRef node : ir::toposort(simple)) {
      if (node->is(Op::Cast)) casts.push_back(node->dtype.scalar);
    }
    return casts;
  }
};

}  // namespace

TEST_CASE("two casts become one only where no value tells") {
  const std::vector<Scalar> all = {Scalar::Bool, Scalar::I8,     Scalar::U8,    Scalar::I16,  Scalar::I32,
                                   Scalar::I64,  Scalar::U64,    Scalar::F16,   Scalar::BF16, Scalar::F32,
                                   Scalar::F64,  Scalar::F8E4M3, Scalar::F8E5M2};
  int merged = 0;
  for (const Scalar a : all) {
    const std::vector<std::uint64_t> bits = patterns(a);
    for (const Scalar b : all) {
      for (const Scalar c : all) {
        const Chain chain(a, b, c);
        const bool plain = std::ranges::all_of(ir::toposort(chain.simple),
                                               [](UOpRef node) { return node->is(Op::Cast) || node->is(Op::Param); });
        if (!plain || a == b || b == c || chain.left().size() > 1) continue;
        ++merged;
        for (const std::uint64_t pattern : bits) {
          const Element x = codegen::reference::decode(a, pattern);
          const Element twice = cast(c, b, cast(b, a, x)), once = cast(c, a, x);
          if (codegen::reference::encode(c, twice) == codegen::reference::encode(c, once)) continue;
          if (ir::is_float(c) && std::isnan(twice.f) && std::isnan(once.f)) continue;
          FAIL_CHECK(ir::to_string(a) << " " << pattern << " by way of " << ir::to_string(b) << ": "
                                      << codegen::reference::to_string(c, twice) << ", at once "
                                      << codegen::reference::to_string(c, once));
          break;
        }
      }
    }
  }
  CHECK(merged > 300);
}

TEST_CASE("fp8 widens exactly, and narrowing to it is kept") {
  for (const Scalar fp8 : {Scalar::F8E4M3, Scalar::F8E5M2}) {
    for (const Scalar middle : {Scalar::F16, Scalar::BF16, Scalar::F32}) {
      CHECK(Chain(fp8, middle, Scalar::F64).left() == std::vector<Scalar>{Scalar::F64});
    }
    CHECK(Chain(fp8, Scalar::F32, fp8).left().empty());
    CHECK(Chain(Scalar::F32, fp8, Scalar::F32).left() == std::vector<Scalar>{fp8, Scalar::F32});
    CHECK(Chain(Scalar::I8, fp8, Scalar::I8).left() == std::vector<Scalar>{fp8, Scalar::I8});
  }
  CHECK(Chain(Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F32).left().size() == 2);
}

TEST_CASE("fp8 operations on constants fold to the reference's values, for every pair") {
  for (const Scalar fp8 : {Scalar::F8E4M3, Scalar::F8E5M2}) {
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Lt}) {
      const Scalar result = op == Op::Lt ? Scalar::Bool : fp8;
      std::size_t wrong = 0;
      for (std::uint64_t a = 0; a < 256; ++a) {
        for (std::uint64_t b = 0; b < 256; ++b) {
          const Element args[] = {codegen::reference::decode(fp8, a), codegen::reference::decode(fp8, b)};
          const Element want = codegen::reference::evaluate(op, result, fp8, args).value();
          const ir::ConstValue constants[] = {{true, 0, args[0].f}, {true, 0, args[1].f}};
          const ir::ConstValue got = rewrite::fold(op, result, fp8, constants).value();
          const bool both_nan = std::isnan(got.f) && std::isnan(want.f);
          const bool either_zero = op == Op::Max && got.f == 0 && want.f == 0;
          wrong += both_nan || either_zero || (got.i == want.i && got.f == want.f) ? 0 : 1;
        }
      }
      INFO(ir::op_name(op) << " " << ir::to_string(fp8));
      CHECK(wrong == 0);
    }
  }
}
