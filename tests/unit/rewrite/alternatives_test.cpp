// The parts of patterns beyond fixed shapes: alternatives, repeated sources, several arities, type filters, casts to
// the element type and powers of two.
#include <catch2/catch.hpp>

#include "compiler/rewrite/rule_set.h"

using namespace hearth;
using namespace hearth::rewrite;
using namespace hearth::rewrite::dsl;
using ir::Op;
using ir::UOpRef;

namespace {

struct AlternativeLeaves {
  ir::Graph g;
  UOpRef a = param(ir::Scalar::I32, 0), b = param(ir::Scalar::I32, 1), c = param(ir::Scalar::I32, 2),
         yes = param(ir::Scalar::Bool, 3);
  UOpRef param(ir::DType type, std::uint32_t slot) { return g.make(Op::Param, type, {}, ir::ParamInfo{slot}); }
  UOpRef i32(std::int64_t v) { return g.constant(ir::Scalar::I32, v); }
  UOpRef neg(UOpRef x) { return g.unary(Op::Neg, x); }
  UOpRef stack(std::vector<UOpRef> lanes) {
    const auto type = lanes[0]->dtype.with_lanes(static_cast<std::uint16_t>(lanes.size()));
    return g.make(Op::Stack, type, lanes);
  }
  UOpRef sink(std::vector<UOpRef> roots) { return g.make(Op::Sink, ir::Scalar::Void, roots); }
  UOpRef apply(const Rule& rule, UOpRef node) {
    Context context(g);
    return rewrite::apply(rule, context, node);
  }
  // Every match, as the captures x, y and z.
  std::vector<std::array<UOpRef, 3>> matches(const Pattern& pattern, UOpRef node, DTypeSet dtypes = kAll) {
    std::vector<std::array<UOpRef, 3>> all;
    match(pattern, dtypes, node, [&](const Match& m) {
      all.push_back({m[x], m[y], m[z]});
      return false;
    });
    return all;
  }
};

using Captures = std::vector<std::array<UOpRef, 3>>;

}  // namespace

TEST_CASE("alternatives are tried in order, and the first that leads to a match counts") {
  AlternativeLeaves l;
  constexpr Rule kRule = rule("t", kInts, any_of(-x, x - y, x * c0), x);
  CHECK(l.apply(kRule, l.neg(l.a)) == l.a);
  CHECK(l.apply(kRule, l.g.sub(l.a, l.b)) == l.a);
  CHECK(l.apply(kRule, l.g.mul(l.i32(3), l.a)) == l.a);
  CHECK(l.apply(kRule, l.g.add(l.a, l.b)) == nullptr);
  constexpr Pattern kBoth = any_of(x + c0, x + y);
  CHECK(l.matches(kBoth, l.g.add(l.a, l.i32(1))) ==
        Captures{{l.a, nullptr, nullptr}, {l.a, l.i32(1), nullptr}, {l.i32(1), l.a, nullptr}});
}

TEST_CASE("what a failed alternative bound is forgotten, and an alternative is taken back when a later part fails") {
  AlternativeLeaves l;
  // -x binds x = -b's operand first; the second operand then asks for another x.
  constexpr Pattern kPattern = any_of(-x, x) - x;
  CHECK(l.matches(kPattern, l.g.sub(l.neg(l.a), l.a)) == Captures{{l.a, nullptr, nullptr}});
  CHECK(l.matches(kPattern, l.g.sub(l.neg(l.a), l.neg(l.a))) == Captures{{l.neg(l.a), nullptr, nullptr}});
  CHECK(l.matches(kPattern, l.g.sub(l.neg(l.a), l.b)).empty());
  // A capture of the failed alternative alone stays unbound.
  CHECK(l.matches(any_of(x * (y - z), x * y), l.g.mul(l.a, l.b)) == Captures{{l.a, l.b, nullptr}, {l.b, l.a, nullptr}});
  // So is the element type that it fixed: an i32 first, then the comparison itself, a bool.
  const UOpRef equal = l.g.binary(Op::Eq, l.a, l.b);
  CHECK(l.matches(any_of(eq(x, 0), x), equal) == Captures{{equal, nullptr, nullptr}});
}

TEST_CASE("alternatives and both orders combine") {
  AlternativeLeaves l;
  // (a or -a) times itself in any order, in a sum in any order: one product has to be found among all of them.
  constexpr Pattern kPattern = any_of(x, -x) * y + any_of(z, -z) * y;
  for (int order = 0; order < 16; ++order) {
    const auto product = [&](UOpRef p, UOpRef q, bool swap) { return swap ? l.g.mul(q, p) : l.g.mul(p, q); };
    UOpRef left = product(order & 8 ? l.neg(l.a) : l.a, l.c, order & 1), right = product(l.neg(l.b), l.c, order & 2);
    if (order & 4) std::swap(left, right);
    const Captures found = l.matches(kPattern, l.g.add(left, right));
    // Each of the two may be a sum's first part; a negated factor is one of two things.
    CHECK(found.size() == (order & 8 ? 8U : 4U));
    const std::array<UOpRef, 3> wanted = {l.a, l.c, l.b};
    CHECK(std::ranges::find(found, wanted) != found.end());
  }
  CHECK(l.matches(kPattern, l.g.add(l.g.mul(l.a, l.b), l.g.mul(l.neg(l.c), l.i32(2)))).empty());
}

TEST_CASE("a rule with alternatives is found under each of their operations") {
  AlternativeLeaves l;
  static constexpr Rule kRules[] = {rule("either", kInts, any_of(any_of(-x, x - 0), abs(x)), x),
                                    rule("later", kInts, -x, x * -1)};
  const RuleSet rules({kRules});
  Context context(l.g);
  for (UOpRef node : {l.neg(l.a), l.g.sub(l.a, l.i32(0)), l.g.unary(Op::Abs, l.a)}) {
    CHECK(rules.apply(context, node).node == l.a);
    CHECK(rules.apply(context, node).rule == 0);
  }
  CHECK(rules.apply(context, l.g.add(l.a, l.b)).node == nullptr);
}

TEST_CASE("a repeated pattern matches every source") {
  AlternativeLeaves l;
  CHECK(l.matches(stack(repeat(x)), l.stack({l.a, l.a, l.a})) == Captures{{l.a, nullptr, nullptr}});
  CHECK(l.matches(stack(repeat(x)), l.stack({l.a, l.a, l.b})).empty());
  CHECK(l.matches(stack(repeat(c0)), l.stack({l.i32(1), l.a})).empty());
  CHECK(l.matches(stack(repeat(-x)), l.stack({l.neg(l.a), l.neg(l.a)})) == Captures{{l.a, nullptr, nullptr}});
  CHECK(l.matches(stack(repeat(-x)), l.stack({l.neg(l.a), l.neg(l.b)})).empty());
  // One or more.
  constexpr Pattern kSink = Pattern::operation(Op::Sink, repeat(any(Op::Neg)));
  CHECK(l.matches(kSink, l.sink({l.neg(l.a)})).size() == 1);
  CHECK(l.matches(kSink, l.sink({})).empty());
  CHECK(l.matches(kSink, l.sink({l.neg(l.a), l.b})).empty());
  // After sources of their own.
  constexpr Pattern kAfter = Pattern::operation(Op::Sink, x, repeat(-x));
  CHECK(l.matches(kAfter, l.sink({l.a, l.neg(l.a), l.neg(l.a)})).size() == 1);
  CHECK(l.matches(kAfter, l.sink({l.a, l.neg(l.a), l.neg(l.b)})).empty());
  CHECK(l.matches(kAfter, l.sink({l.a})).empty());
}

TEST_CASE("lanes of one vector in their order are that vector, and a lane of a stack is its source") {
  AlternativeLeaves l;
  const ir::DType pair = ir::DType(ir::Scalar::I32).with_lanes(2);
  const UOpRef v = l.param(pair, 4), w = l.param(pair, 5);
  const auto lane = [&](UOpRef vector, std::uint16_t number) {
    return l.g.make(Op::Extract, ir::Scalar::I32, {vector}, ir::LaneInfo{number});
  };
  constexpr Rule kWhole = rule("t", kInts, stack(lanes_of(x)), x), kLane = rule("t", kInts, extract(stacked(x)), x);
  CHECK(l.apply(kWhole, l.stack({lane(v, 0), lane(v, 1)})) == v);
  CHECK(l.apply(kWhole, l.stack({lane(v, 1), lane(v, 0)})) == nullptr);
  CHECK(l.apply(kWhole, l.stack({lane(v, 0), lane(w, 1)})) == nullptr);
  CHECK(l.apply(kWhole, l.stack({lane(v, 0), l.a})) == nullptr);
  CHECK(l.apply(kWhole, l.stack({lane(v, 0)})) == nullptr);  // half of it
  CHECK(l.apply(kLane, lane(l.stack({l.a, l.b}), 1)) == l.b);
  CHECK(l.apply(kLane, lane(v, 1)) == nullptr);
  CHECK(l.matches(extract(stacked(-x)), lane(l.stack({l.a, l.neg(l.b)}), 1)) == Captures{{l.b, nullptr, nullptr}});
  CHECK(l.matches(extract(stacked(-x)), lane(l.stack({l.a, l.neg(l.b)}), 0)).empty());
}

TEST_CASE("a rule of casts fires for its types alone") {
  AlternativeLeaves l;
  constexpr TypesFn kWidens = [](ir::DType from, ir::DType through, ir::DType to) {
    return ir::bit_width(from) <= ir::bit_width(through) && to == ir::DType(ir::Scalar::I8);
  };
  constexpr Rule kRule = for_types(kWidens, rule("t", kAll, cast(through(u)), cast(u)));
  const auto twice = [&](ir::Scalar middle, ir::Scalar last) { return l.g.cast(l.g.cast(l.a, middle), last); };
  CHECK(l.apply(kRule, twice(ir::Scalar::I64, ir::Scalar::I8)) == l.g.cast(l.a, ir::Scalar::I8));
  CHECK(l.apply(kRule, twice(ir::Scalar::I16, ir::Scalar::I8)) == nullptr);
  CHECK(l.apply(kRule, twice(ir::Scalar::I64, ir::Scalar::U8)) == nullptr);
  CHECK(l.apply(kRule, l.g.cast(l.a, ir::Scalar::I8)) == nullptr);
}

TEST_CASE("the rest of an operation is any number of sources, and stays on the right side") {
  AlternativeLeaves l;
  const auto reshaped = [&](UOpRef x, std::vector<std::int64_t> lengths) {
    std::vector<UOpRef> sources = {x};
    for (const std::int64_t length : lengths) sources.push_back(l.g.index(length));
    return l.g.make(Op::Reshape, x->dtype, sources);
  };
  constexpr Rule kRule = rule("t", kAll, reshape(reshape(x, rest), rest), reshape(x, rest));
  CHECK(l.apply(kRule, reshaped(reshaped(l.a, {2, 3}), {6})) == reshaped(l.a, {6}));
  CHECK(l.apply(kRule, reshaped(reshaped(l.a, {1}), {})) == reshaped(l.a, {}));
  CHECK(l.apply(kRule, reshaped(reshaped(l.a, {}), {1, 1})) == reshaped(l.a, {1, 1}));
  CHECK(l.apply(kRule, reshaped(l.neg(l.a), {6})) == nullptr);
}

TEST_CASE("a choice in one of the repeated sources is taken back when another source fails") {
  AlternativeLeaves l;
  // Which factor is x only the last source tells.
  constexpr Pattern kCommon = stack(repeat(x * any()));
  const UOpRef ab = l.g.mul(l.a, l.b), ca = l.g.mul(l.c, l.a), bc = l.g.mul(l.b, l.c);
  CHECK(l.matches(kCommon, l.stack({ab, ca})) == Captures{{l.a, nullptr, nullptr}});
  CHECK(l.matches(kCommon, l.stack({ab, bc, ab})) == Captures{{l.b, nullptr, nullptr}});
  CHECK(l.matches(kCommon, l.stack({ab, bc, ca})).empty());
  constexpr Pattern kEither = stack(repeat(any_of(x, -x)));
  CHECK(l.matches(kEither, l.stack({l.neg(l.a), l.a, l.neg(l.a)})) == Captures{{l.a, nullptr, nullptr}});
  CHECK(l.matches(kEither, l.stack({l.neg(l.a), l.neg(l.a)})).size() == 2);
  // What comes after the operation is part of the search.
  CHECK(l.matches(stack(repeat(x * any())) == stack(repeat(x)),
                  l.g.binary(Op::Eq, l.stack({ab, ab}), l.stack({l.b, l.b}))) == Captures{{l.b, nullptr, nullptr}});
}

TEST_CASE("many sources: leaves at any number, choices up to a limit") {
  AlternativeLeaves l;
  const auto lanes = [&](std::size_t n, UOpRef each) { return l.sink(std::vector<UOpRef>(n, each)); };
  constexpr Pattern kLeaf = Pattern::operation(Op::Sink, repeat(x)),
                    kChoice = Pattern::operation(Op::Sink, repeat(any_of(-x, x)));
  CHECK(l.matches(kLeaf, lanes(100'000, l.a)).size() == 1);
  CHECK(l.matches(kChoice, lanes(kMaxRepeats, l.a)).size() == 1);
  CHECK(l.matches(kChoice, lanes(kMaxRepeats + 1, l.a)).empty());
}

TEST_CASE("fork takes an operation of one of several arities") {
  AlternativeLeaves l;
  const UOpRef index = l.g.make(Op::Index, ir::Scalar::Void, {l.a, l.g.index(0), l.yes});
  const UOpRef plain = l.g.make(Op::Load, ir::Scalar::I32, {index}),
               gated = l.g.make(Op::Load, ir::Scalar::I32, {index, l.b});
  constexpr Pattern kLoad = fork(Op::Load, sources(any(Op::Index)), sources(any(Op::Index), x));
  CHECK(l.matches(kLoad, plain) == Captures{{nullptr, nullptr, nullptr}});
  CHECK(l.matches(kLoad, gated) == Captures{{l.b, nullptr, nullptr}});
  CHECK(l.matches(fork(Op::Load, sources(any()), sources(any(), c0)), gated).empty());
}

TEST_CASE("a filter keeps a node to some types") {
  AlternativeLeaves l;
  const UOpRef f = l.param(ir::Scalar::F32, 5), n = l.g.index(3), v = l.stack({l.a, l.b});
  CHECK(l.matches(any().dtype(kFloat), f).size() == 1);
  CHECK(l.matches(any().dtype(kFloat), l.a).empty());
  CHECK(l.matches(any().dtype(kIndex | kSigned), n).size() == 1);
  CHECK(l.matches(any().dtype(kSigned), v).size() == 1);
  CHECK(l.matches(any().dtype(kSigned | kOneLane), v).empty());
  CHECK(l.matches(any().dtype(kSigned | kOneLane), l.a).size() == 1);
  CHECK(l.matches(any().dtype(kAll), l.sink({l.a})).empty());  // void is no type
  // On every kind of node, alternatives included.
  CHECK(l.matches(any(Op::Param).dtype(kFloat), l.a).empty());
  CHECK(l.matches((x + y).dtype(kFloat), l.g.add(l.a, l.b)).empty());
  CHECK(l.matches(any_of(-x, x).dtype(kFloat), l.neg(l.a)).empty());
  CHECK(l.matches(any_of(-x, x).dtype(kSigned), l.neg(l.a)).size() == 2);
  CHECK(l.matches(stack(repeat(any().dtype(kFloat))), v).empty());
}

TEST_CASE("cast is a conversion to the element type") {
  AlternativeLeaves l;
  constexpr Rule kRule = rule("t", kInts, cast(p) + x, where(p, x + 1, x));
  const UOpRef wide = l.g.cast(l.yes, ir::Scalar::I32);
  CHECK(l.apply(kRule, l.g.add(l.a, wide)) == l.g.where(l.yes, l.g.add(l.a, l.i32(1)), l.a));
  CHECK(l.apply(kRule, l.g.add(l.a, l.g.cast(l.b, ir::Scalar::I32))) == nullptr);
  // It counts for the rule's types, and casts of a value to its own type are the only ones of x.
  constexpr Rule kCompare = rule("t", kInts, ne(cast(p), 0), p);
  CHECK(l.apply(kCompare, l.g.binary(Op::Ne, wide, l.i32(0))) == l.yes);
  const UOpRef real = l.g.cast(l.yes, ir::Scalar::F32);
  CHECK(l.apply(kCompare, l.g.binary(Op::Ne, real, l.g.constant(ir::Scalar::F32, 0.0))) == nullptr);
  constexpr Rule kSame = rule("t", kAll, cast(x), x);
  CHECK(l.apply(kSame, l.g.make(Op::Cast, ir::Scalar::I32, {l.a})) == l.a);
  CHECK(l.apply(kSame, l.g.cast(l.a, ir::Scalar::I8)) == nullptr);
  // On a right side.
  constexpr Rule kBuilt = rule("t", kInts, where(p, x, 0), cast(p) * x);
  CHECK(l.apply(kBuilt, l.g.where(l.yes, l.a, l.i32(0))) == l.g.mul(wide, l.a));
}

TEST_CASE("log2 has a value for powers of two alone") {
  AlternativeLeaves l;
  constexpr Rule kRule = rule("t", kFixed, floordiv(x, c0), shr(x, val(log2(c0))));
  CHECK(l.apply(kRule, l.g.floordiv(l.a, l.i32(8))) == l.g.binary(Op::Shr, l.a, l.i32(3)));
  CHECK(l.apply(kRule, l.g.floordiv(l.a, l.i32(1))) == l.g.binary(Op::Shr, l.a, l.i32(0)));
  for (std::int64_t divisor : {0, -8, 12, -1}) CHECK(l.apply(kRule, l.g.floordiv(l.a, l.i32(divisor))) == nullptr);
  CHECK(l.apply(kRule, l.g.floordiv(l.a, l.i32(INT32_MIN))) == nullptr);
  const UOpRef u = l.param(ir::Scalar::U64, 6);
  const auto u64 = [&](std::int64_t value) { return l.g.constant(ir::Scalar::U64, value); };
  CHECK(l.apply(kRule, l.g.floordiv(u, u64(INT64_MIN))) == l.g.binary(Op::Shr, u, u64(63)));  // 2^63
  constexpr Rule kMask = rule("t", kFixed, floormod(x, c0), x & val(c0 - 1), log2(c0) >= 0);
  CHECK(l.apply(kMask, l.g.floormod(l.a, l.i32(8))) == l.g.logical_and(l.a, l.i32(7)));
  CHECK(l.apply(kMask, l.g.floormod(l.a, l.i32(6))) == nullptr);
}

TEST_CASE("the printer names every part") {
  CHECK(to_string(any_of(-x, stack(repeat(x)))) == "any_of(neg(x), stack(repeat(x)))");
  CHECK(to_string(any_of(any(), any(Op::Add))) == "any_of(any, add(...))");
  CHECK(to_string(shr(x, val(log2(c0)))) == "shr(x, val(log2(c0)))");
  CHECK(to_string(any(Op::Add).dtype(kIndex | kOneLane)) == "add(...):index scalar");
  CHECK(to_string(x.dtype(kInts | kBool)) == "x:signed|unsigned|index|bool");
}
