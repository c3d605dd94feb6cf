// Pattern: an expression over UOps as compile-time data. One type serves as a rule's left side, right side and
// condition; the matcher, the builder, the text printer and the Z3 prover all read this same object.
//
// Captures: x y z w any value of the rule's element type, p q r any bool, c0..c3 a constant of the element type, u a
// value of any type (in rules of casts, for_types). One that stands twice means the same node. val(e): e folded to a
// constant at the dtype (wrapping; the rule does not fire when e has no value). cast(p): p as the element type. In a
// condition arithmetic is over unbounded integers.
//
//   x * c0 + x * c1                      the left side of combine_terms; x * val(c0 + c1) is its right side
//   vmin(x) > 0 || vmax(x) < 0           a condition, about the bounds of x
//   any_of(-(x * c0), (-x) * c0)         what one of several patterns matches, the first one first
//   stack(repeat(x))                     every source, one or more, matches the pattern (here: is the same node)
//   fork(Op::Load, sources(x), sources(x, y))    an operation of one of several arities
//   any(Op::Add).dtype(kIndex | kOneLane)        a node of these types; any(): of any operation
//   stack(lanes_of(x))                   the lanes of one vector, in order (payload LaneInfo)
//   extract(stacked(x))                  of a stack the source of the lane that is extracted
//   cast(through(u))                     two casts; for_types says of which types
//   expand(expand(x, rest), rest)        rest: the other sources, any number; of the root on both sides the same
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>

#include "compiler/ir/uop.h"

namespace hearth::rewrite {

// Classes of element types: those a rule holds for, or a node is filtered by.
using DTypeSet = std::uint8_t;
inline constexpr DTypeSet kIndex = 1, kSigned = 2, kUnsigned = 4, kBool = 8, kFloat = 16;
inline constexpr DTypeSet kFixed = kSigned | kUnsigned, kInts = kFixed | kIndex, kAll = kInts | kBool | kFloat;
inline constexpr DTypeSet kOneLane = 32;  // in a node's filter: no vectors

enum class NodeKind : std::uint8_t {
  Capture,     // any node, or a constant for c0..c3
  Literal,     // the integer `value` at the dtype of its place
  Operation,   // `op` with these sources
  AnySources,  // a node of `op`, whatever its sources (left sides of rule_fn)
  AnyNode,     // any node (likewise)
  OneOf,       // what one of the sources matches (left sides)
  Repeat,      // the last source of an operation (left sides): one or more, each matched by this one's source
  Lanes,       // the sources of a stack (left sides): the lanes of this one's source, in order
  Stacked,     // of an extract (left sides): a stack that has this one's source at that lane
  Through,     // a cast or bitcast `op` to any type (left sides), of which the rule's `types` is asked
  Rest,        // the last sources of an operation, any number; on a right side those of the node that is replaced
  Fold,        // val(): the source, computed now
  Log2,        // of a constant; no value when it is no power of two (in val() and conditions)
  VMin,        // bounds of a capture (conditions only)
  VMax,
};

inline constexpr int kNumCaptures = 12;
inline constexpr int kFirstBoolCapture = 4;
inline constexpr int kFirstConstCapture = 8;
constexpr bool is_const_capture(int capture) { return capture >= kFirstConstCapture; }
inline constexpr int kAnyTypeCapture = 7;
constexpr bool is_bool_capture(int capture) { return capture >= kFirstBoolCapture && capture < kAnyTypeCapture; }

struct PatternNode {
  NodeKind kind = NodeKind::Literal;
  ir::Op op = ir::Op::Const;
  std::uint8_t capture = 0;
  bool op_slot = false;  // `op` is chosen by for_ops
  DTypeSet dtypes = 0;   // filter; 0: none
  std::uint8_t num_sources = 0;
  std::array<std::uint8_t, 4> sources{};
  std::int64_t value = 0;
};

// Nodes in pre-order: the root is node 0 and every node comes before its sources.
class Pattern {
 public:
  static constexpr int kMaxNodes = 24;

  constexpr Pattern() = default;
  template <std::integral Int>
  constexpr Pattern(Int value) : size_(1) {  // NOLINT: `x + 0` reads as it should
    nodes_[0].value = static_cast<std::int64_t>(value);
  }
  static constexpr Pattern leaf(NodeKind kind, std::uint8_t capture) {
    Pattern result;
    result.size_ = 1;
    result.nodes_[0].kind = kind;
    result.nodes_[0].capture = capture;
    return result;
  }
  static constexpr Pattern any_sources(ir::Op op) {
    Pattern result = leaf(NodeKind::AnySources, 0);
    result.nodes_[0].op = op;
    return result;
  }
  template <class... Sources>
  static constexpr Pattern operation(ir::Op op, const Sources&... sources) {
    return make(NodeKind::Operation, op, false, sources...);
  }
  template <class... Sources>
  static constexpr Pattern slot(const Sources&... sources) {
    return make(NodeKind::Operation, ir::Op::Const, true, sources...);
  }
  static constexpr Pattern fold(const Pattern& source) { return make(NodeKind::Fold, ir::Op::Const, false, source); }
  template <class... Alternatives>
  static constexpr Pattern one_of(const Alternatives&... alternatives) {
    static_assert(sizeof...(Alternatives) > 1, "alternatives are two or more");
    return make(NodeKind::OneOf, ir::Op::Const, false, alternatives...);
  }
  // Repeat, Lanes, Stacked or Through.
  static constexpr Pattern of(NodeKind kind, const Pattern& source, ir::Op op = ir::Op::Const) {
    return make(kind, op, false, source);
  }
  // The same, matching nodes of these types only.
  constexpr Pattern dtype(DTypeSet dtypes) const {
    Pattern result = *this;
    result.nodes_[0].dtypes = dtypes;
    return result;
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const PatternNode& operator[](int i) const { return nodes_[i]; }
  constexpr PatternNode& at(int i) { return nodes_[i]; }
  // The pattern with every op slot set to `op`.
  constexpr Pattern with_op(ir::Op op) const {
    Pattern result = *this;
    for (int i = 0; i < size_; ++i) {
      if (result.nodes_[i].op_slot) result.nodes_[i].op = op;
    }
    return result;
  }

 private:
  template <class... Sources>
  static constexpr Pattern make(NodeKind kind, ir::Op op, bool op_slot, const Sources&... sources) {
    Pattern result;
    result.size_ = 1;
    result.nodes_[0].kind = kind;
    result.nodes_[0].op = op;
    result.nodes_[0].op_slot = op_slot;
    (result.append(sources), ...);
    return result;
  }
  constexpr void append(const Pattern& source) {
    // Thrown at compile time only.
    if (size_ + source.size_ > kMaxNodes) throw "pattern too large";
    if (nodes_[0].num_sources == nodes_[0].sources.size()) throw "too many sources";
    const NodeKind before =
        nodes_[0].num_sources > 0 ? nodes_[nodes_[0].sources[nodes_[0].num_sources - 1]].kind : NodeKind::Literal;
    if (before == NodeKind::Repeat || before == NodeKind::Rest) throw "repeat() and rest must be the last source";
    nodes_[0].sources[nodes_[0].num_sources++] = static_cast<std::uint8_t>(size_);
    for (int i = 0; i < source.size_; ++i) {
      PatternNode node = source.nodes_[i];
      for (int s = 0; s < node.num_sources; ++s) node.sources[s] = static_cast<std::uint8_t>(node.sources[s] + size_);
      nodes_[size_ + i] = node;
    }
    size_ = static_cast<std::uint8_t>(size_ + source.size_);
  }

  std::array<PatternNode, kMaxNodes> nodes_{};
  std::uint8_t size_ = 0;
};

// "add(x, 0)"; the part below node `from`.
std::string to_string(const Pattern& pattern, int from = 0);

// Whether node `i` is bool by its form, has the rule's element type, or takes the type of its place (literals).
enum class Sort : std::uint8_t { Element, Bool, Unknown };
Sort sort_of(const Pattern& pattern, int i);

// The names rules are written with.
namespace dsl {
#define HEARTH_CAPTURE(name, number) inline constexpr Pattern name = Pattern::leaf(NodeKind::Capture, number)
HEARTH_CAPTURE(x, 0);
HEARTH_CAPTURE(y, 1);
HEARTH_CAPTURE(z, 2);
HEARTH_CAPTURE(w, 3);
HEARTH_CAPTURE(p, 4);
HEARTH_CAPTURE(q, 5);
HEARTH_CAPTURE(r, 6);
HEARTH_CAPTURE(u, kAnyTypeCapture);
HEARTH_CAPTURE(c0, 8);
HEARTH_CAPTURE(c1, 9);
HEARTH_CAPTURE(c2, 10);
HEARTH_CAPTURE(c3, 11);
#undef HEARTH_CAPTURE

constexpr Pattern val(const Pattern& e) { return Pattern::fold(e); }
constexpr Pattern vmin(const Pattern& capture) { return Pattern::leaf(NodeKind::VMin, capture[0].capture); }
constexpr Pattern vmax(const Pattern& capture) { return Pattern::leaf(NodeKind::VMax, capture[0].capture); }
constexpr Pattern log2(const Pattern& capture) { return Pattern::leaf(NodeKind::Log2, capture[0].capture); }
constexpr Pattern any(ir::Op op) { return Pattern::any_sources(op); }
constexpr Pattern any() { return Pattern::leaf(NodeKind::AnyNode, 0); }
template <class... Alternatives>
constexpr Pattern any_of(const Alternatives&... alternatives) {
  return Pattern::one_of(Pattern(alternatives)...);
}
constexpr Pattern repeat(const Pattern& each) { return Pattern::of(NodeKind::Repeat, each); }
constexpr Pattern lanes_of(const Pattern& vector) { return Pattern::of(NodeKind::Lanes, vector); }
constexpr Pattern stacked(const Pattern& source) { return Pattern::of(NodeKind::Stacked, source); }
constexpr Pattern through(const Pattern& a) { return Pattern::of(NodeKind::Through, a, ir::Op::Cast); }
constexpr Pattern through_bits(const Pattern& a) { return Pattern::of(NodeKind::Through, a, ir::Op::Bitcast); }
inline constexpr Pattern rest = Pattern::leaf(NodeKind::Rest, 0);
template <class... Sources>
constexpr std::tuple<Sources...> sources(const Sources&... patterns) {
  return {patterns...};
}
template <class... Arities>
constexpr Pattern fork(ir::Op op, const Arities&... arities) {
  const auto of = [op](const auto&... patterns) { return Pattern::operation(op, patterns...); };
  return Pattern::one_of(std::apply(of, arities)...);
}
// The operation for_ops chooses.
constexpr Pattern op1(const Pattern& a) { return Pattern::slot(a); }
constexpr Pattern op2(const Pattern& a, const Pattern& b) { return Pattern::slot(a, b); }

#define HEARTH_UNARY(name, o) \
  constexpr Pattern name(const Pattern& a) { return Pattern::operation(ir::Op::o, a); }
#define HEARTH_BINARY(name, o) \
  constexpr Pattern name(const Pattern& a, const Pattern& b) { return Pattern::operation(ir::Op::o, a, b); }
HEARTH_UNARY(abs, Abs)
HEARTH_UNARY(neg, Neg)
HEARTH_UNARY(recip, Recip)
HEARTH_UNARY(cast, Cast)
HEARTH_UNARY(bitcast, Bitcast)
HEARTH_UNARY(contiguous, Contiguous)
HEARTH_UNARY(cat, Cat)  // of one
HEARTH_UNARY(stack, Stack)
HEARTH_UNARY(broadcast, Broadcast)
HEARTH_UNARY(extract, Extract)
HEARTH_BINARY(floordiv, FloorDiv)
HEARTH_BINARY(floormod, FloorMod)
HEARTH_BINARY(truncdiv, TruncDiv)
HEARTH_BINARY(truncmod, TruncMod)
HEARTH_BINARY(max, Max)
HEARTH_BINARY(min, Min)
HEARTH_BINARY(eq, Eq)
HEARTH_BINARY(ne, Ne)
HEARTH_BINARY(shl, Shl)
HEARTH_BINARY(shr, Shr)
#undef HEARTH_UNARY
#undef HEARTH_BINARY
constexpr Pattern where(const Pattern& a, const Pattern& b, const Pattern& c) {
  return Pattern::operation(ir::Op::Where, a, b, c);
}
// Movement: the value, then lengths or amounts.
constexpr Pattern reshape(const Pattern& a, const Pattern& dims) {
  return Pattern::operation(ir::Op::Reshape, a, dims);
}
constexpr Pattern expand(const Pattern& a, const Pattern& dims) { return Pattern::operation(ir::Op::Expand, a, dims); }
}  // namespace dsl

#define HEARTH_OPERATOR(symbol, o) \
  constexpr Pattern operator symbol(const Pattern& a, const Pattern& b) { return Pattern::operation(ir::Op::o, a, b); }
HEARTH_OPERATOR(+, Add)
HEARTH_OPERATOR(-, Sub)
HEARTH_OPERATOR(*, Mul)
HEARTH_OPERATOR(/, Div)
HEARTH_OPERATOR(<, Lt)
HEARTH_OPERATOR(<=, Le)
HEARTH_OPERATOR(==, Eq)
HEARTH_OPERATOR(!=, Ne)
HEARTH_OPERATOR(&&, And)
HEARTH_OPERATOR(||, Or)
HEARTH_OPERATOR(&, And)
HEARTH_OPERATOR(|, Or)
HEARTH_OPERATOR(^, Xor)
#undef HEARTH_OPERATOR
constexpr Pattern operator>(const Pattern& a, const Pattern& b) { return Pattern::operation(ir::Op::Lt, b, a); }
constexpr Pattern operator>=(const Pattern& a, const Pattern& b) { return Pattern::operation(ir::Op::Le, b, a); }
constexpr Pattern operator-(const Pattern& a) { return Pattern::operation(ir::Op::Neg, a); }
constexpr Pattern operator!(const Pattern& a) { return Pattern::operation(ir::Op::Not, a); }
constexpr Pattern operator~(const Pattern& a) { return Pattern::operation(ir::Op::Not, a); }

}  // namespace hearth::rewrite
