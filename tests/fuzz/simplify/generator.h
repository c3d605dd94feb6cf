// Random expressions for the simplifier: every integer width, bool, index over ranges and bounded variables with the
// div/mod shapes that reshapes produce, accesses under gates, and reductions. Deterministic in its seed.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::test {

class Generator {
 public:
  Generator(ir::Graph& graph, std::uint64_t seed) : graph_(graph), random_(seed) {
    const ir::UOpRef n = graph.var("n", 1, 12, 0), m = graph.var("m", 1, 7, 1);
    index_leaves_ = {n, m, graph.var("s", -9, 9, 2), graph.range(n, 0, ir::RangeKind::Loop),
                     graph.range(m, 1, ir::RangeKind::Loop)};
    const std::int64_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 64};
    for (std::uint32_t i = 0; i < 8; ++i) {
      index_leaves_.push_back(graph.range(graph.index(sizes[i]), 2 + i, ir::RangeKind::Loop));
    }
  }

  std::uint64_t below(std::uint64_t n) { return n == 0 ? random_() : random_() % n; }

  static constexpr std::array<ir::Scalar, 9> kTypes = {ir::Scalar::I8,  ir::Scalar::I16, ir::Scalar::I32,
                                                       ir::Scalar::I64, ir::Scalar::U8,  ir::Scalar::U16,
                                                       ir::Scalar::U32, ir::Scalar::U64, ir::Scalar::Bool};
  ir::Scalar integer_type() { return kTypes[below(8)]; }

  // A value of any type, half of them indices.
  ir::UOpRef expression(int depth) {
    if (below(2) == 0) return index(depth);
    return value(kTypes[below(9)], depth);
  }

  // The same, and gated accesses (an Index) and reductions.
  ir::UOpRef any_expression(int depth) {
    if (below(6) == 0) return below(8) == 0 ? store(depth) : gated(depth);
    if (below(6) == 0) return reduction(below(10) == 0 ? ir::Scalar::Index : kTypes[below(9)], depth);
    return expression(depth);
  }

  // Elements of the buffers that reductions load from.
  const std::map<std::uint32_t, ir::UOpRef>& buffer_sizes() const { return sizes_; }

  // Positions whose divisions, modulos and clamps the gate makes needless, or almost.
  ir::UOpRef gated(int depth) {
    const ir::UOpRef c0 = graph_.index(small()), c1 = graph_.index(static_cast<std::int64_t>(below(70)));
    ir::UOpRef sum = index_leaf();
    if (below(2)) sum = graph_.add(sum, below(3) ? index_leaf() : graph_.mul(index_leaf(), graph_.index(divisor())));
    if (below(2)) sum = graph_.add(sum, graph_.index(small()));
    ir::UOpRef gate = graph_.lt(sum, c1);
    if (below(3)) gate = graph_.logical_and(graph_.lt(c0, sum), gate);
    if (below(4) == 0) gate = graph_.logical_and(boolean(depth > 2 ? 2 : depth), gate);
    std::vector<ir::UOpRef> sources = {graph_.make(ir::Op::Param, ir::Scalar::F32, {}, ir::ParamInfo{50})};
    for (std::uint64_t n = 1 + below(2); n > 0; --n) sources.push_back(position(sum, c0, c1, depth > 3 ? 3 : depth));
    sources.push_back(gate);
    return graph_.make(ir::Op::Index, ir::Scalar::Void, sources);
  }

  // A store of a choice that its gate may have made.
  ir::UOpRef store(int depth) {
    const ir::DType type = integer_type();
    const ir::UOpRef a = boolean(depth / 2), b = boolean(depth / 2);
    const ir::UOpRef gate = below(4) ? graph_.logical_and(a, b) : b, chosen = below(3) ? a : boolean(depth / 2);
    const ir::UOpRef buffer = graph_.make(ir::Op::Param, type, {}, ir::ParamInfo{51});
    const ir::UOpRef at = graph_.make(ir::Op::Index, ir::Scalar::Void, {buffer, index(depth / 2), gate});
    const ir::UOpRef value_or_other = graph_.where(chosen, value(type, depth / 2), value(type, depth / 2));
    return graph_.make(ir::Op::Store, ir::Scalar::Void, {at, value_or_other});
  }

  // where(g, a load gated by g and more or less, what it gives otherwise or something else)
  ir::UOpRef gated_load(ir::DType type, int depth) {
    const ir::UOpRef a = boolean(depth), b = boolean(depth);
    const ir::UOpRef buffer = graph_.make(ir::Op::Param, type, {}, ir::ParamInfo{52});
    const ir::UOpRef gate = below(2) ? a : graph_.logical_and(a, b);
    const ir::UOpRef at = graph_.make(ir::Op::Index, ir::Scalar::Void, {buffer, index(depth), gate});
    const ir::UOpRef other = leaf(type);
    const ir::UOpRef load =
        below(3) == 0 ? graph_.make(ir::Op::Load, type, {at, other}) : graph_.make(ir::Op::Load, type, {at});
    return graph_.where(below(4) ? a : b, load, below(4) ? (below(3) ? graph_.constant(type, 0) : other) : leaf(type));
  }

  // Over one or two ranges: one-hot choices, arange sums, values that read the range or do not.
  ir::UOpRef reduction(ir::DType type, int depth) {
    depth = depth > 2 ? 2 : depth;
    const std::size_t leaves = index_leaves_.size();
    std::vector<ir::UOpRef> sources = {nullptr};
    for (std::uint64_t n = below(4) == 0 ? 2 : 1; n > 0; --n) {
      const ir::UOpRef size =
          below(3) == 0 ? index_leaves_[below(3)] : graph_.index(static_cast<std::int64_t>(below(7)));
      sources.push_back(graph_.range(size, next_axis_++, ir::RangeKind::Reduce));
      index_leaves_.push_back(sources.back());
    }
    sources[0] = body(type, sources.back(), depth);
    index_leaves_.resize(leaves);
    static constexpr ir::ReduceKind kKinds[] = {ir::ReduceKind::Sum, ir::ReduceKind::Sum, ir::ReduceKind::Sum,
                                                ir::ReduceKind::Sum, ir::ReduceKind::Max, ir::ReduceKind::Min,
                                                ir::ReduceKind::Prod};
    return graph_.make(ir::Op::Reduce, type, sources, ir::ReduceInfo{kKinds[below(7)], {}});
  }

  ir::UOpRef index(int depth) {
    if (depth <= 0 || below(8) == 0) {
      return below(4) == 0 ? graph_.index(small()) : index_leaves_[below(index_leaves_.size())];
    }
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return graph_.add(index(depth - 1), index(depth - 1));
      case 3:
      case 4:
        return graph_.mul(index(depth - 1), graph_.index(divisor()));
      case 5:
        return graph_.floordiv(index(depth - 1), graph_.index(divisor()));
      case 6:
        return graph_.floormod(index(depth - 1), graph_.index(divisor()));
      case 7: {
        static constexpr ir::Op kOps[] = {ir::Op::FloorDiv, ir::Op::FloorMod, ir::Op::TruncDiv, ir::Op::TruncMod};
        return graph_.binary(kOps[below(4)], index(depth - 1), index(depth - 1));
      }
      case 8:
        if (below(4) == 0) return graph_.unary(ir::Op::Neg, index(depth - 1));
        return graph_.sub(index(depth - 1), index(depth - 1));
      case 9:
        return graph_.binary(below(2) ? ir::Op::Max : ir::Op::Min, index(depth - 1), index(depth - 1));
      case 10:
        return graph_.where(value(ir::Scalar::Bool, depth - 1), index(depth - 1), index(depth - 1));
      default:
        return symbolic(depth - 1);
    }
  }

  ir::UOpRef value(ir::DType type, int depth) {
    if (ir::is_index(type)) return index(depth);
    if (depth <= 0 || below(10) == 0) return leaf(type);
    if (ir::is_bool(type)) return boolean(depth);
    if (below(24) == 0) return gated_load(type, depth - 1);
    if (below(24) == 0) return recombined(type, depth - 1);
    switch (below(10)) {
      case 0:
        return graph_.unary(below(3) ? ir::Op::Neg : below(2) ? ir::Op::Not : ir::Op::Abs, value(type, depth - 1));
      case 1:
        return graph_.where(boolean(depth - 1), value(type, depth - 1), value(type, depth - 1));
      case 2:
        return below(5) == 0 ? graph_.cast(index(depth - 1), type)
                             : graph_.cast(value(kTypes[below(9)], depth - 1), type);
      default: {
        static constexpr ir::Op kOps[] = {ir::Op::Add, ir::Op::Sub,      ir::Op::Mul,      ir::Op::Add,
                                          ir::Op::Mul, ir::Op::TruncDiv, ir::Op::TruncMod, ir::Op::Max,
                                          ir::Op::Min, ir::Op::FloorDiv, ir::Op::FloorMod, ir::Op::And,
                                          ir::Op::Or,  ir::Op::Xor,      ir::Op::Shl,      ir::Op::Shr};
        const ir::UOpRef a = value(type, depth - 1);
        return graph_.binary(kOps[below(16)], a,
                             below(3) == 0   ? constant(type)
                             : below(8) == 0 ? a
                                             : value(type, depth - 1));
      }
    }
  }

 private:
  std::int64_t small() { return static_cast<std::int64_t>(below(21)) - 6; }
  std::int64_t divisor() {
    static constexpr std::int64_t kDivisors[] = {1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 64, -2, 0, 7};
    return kDivisors[below(14)];
  }
  ir::UOpRef constant(ir::DType type) {
    if (ir::is_bool(type)) return graph_.boolean(below(2));
    if (below(6) == 0) return graph_.constant(type, below(2) ? ir::int_min(type) : ir::int_max(type));
    return graph_.constant(type, small());
  }
  // One of two parameters of each type, or a constant.
  ir::UOpRef leaf(ir::DType type) {
    if (ir::is_index(type)) return index(0);
    if (below(3) == 0) return constant(type);
    return graph_.make(ir::Op::Param, type, {}, ir::ParamInfo{static_cast<std::uint32_t>(below(2))});
  }
  // (a*n + b) div or mod n, with b < n or not.
  ir::UOpRef symbolic(int depth) {
    const ir::UOpRef n = index_leaves_[below(2)];
    const ir::UOpRef low = below(3) ? index_leaves_[n == index_leaves_[0] ? 3 : 4] : index(depth);
    const ir::UOpRef sum = graph_.add(graph_.mul(index(depth), n), low);
    return graph_.binary(below(2) ? ir::Op::FloorDiv : ir::Op::FloorMod, sum, n);
  }
  // (x >> k) * 2^k + (x & (2^k - 1)), or almost.
  ir::UOpRef recombined_bits(ir::DType type, int depth) {
    const ir::UOpRef x = value(type, depth);
    const auto shift = static_cast<std::int64_t>(below(7));
    auto c = [&](std::int64_t value) { return graph_.constant(type, below(8) ? value : value + 1); };
    return graph_.add(graph_.mul(graph_.binary(ir::Op::Shr, x, c(shift)), c(std::int64_t{1} << shift)),
                      graph_.binary(ir::Op::And, x, c((std::int64_t{1} << shift) - 1)));
  }
  // (x div c) * c + x mod c, or almost.
  ir::UOpRef recombined(ir::DType type, int depth) {
    const bool floors = below(2);
    if (below(3) == 0) return recombined_bits(type, depth);
    const ir::UOpRef x = value(type, depth), c = graph_.constant(type, divisor());
    const ir::UOpRef quotient = graph_.binary(floors ? ir::Op::FloorDiv : ir::Op::TruncDiv, x, c);
    const ir::UOpRef rest = graph_.binary(floors ? ir::Op::FloorMod : ir::Op::TruncMod, x, c);
    const ir::UOpRef multiple = graph_.mul(quotient, below(6) ? c : graph_.constant(type, divisor()));
    return below(2) ? graph_.add(multiple, rest) : graph_.sub(x, multiple);
  }
  // Two comparisons of one value with constants.
  ir::UOpRef interval(ir::DType type, int depth) {
    const ir::UOpRef a = value(type, depth);
    auto side = [&] {
      const ir::UOpRef c = ir::is_index(type) ? graph_.index(small()) : constant(type);
      const ir::Op op = below(2) ? ir::Op::Lt : ir::Op::Le;
      return below(2) ? graph_.binary(op, a, c) : graph_.binary(op, c, a);
    };
    const ir::UOpRef first = side();
    return graph_.binary(below(2) ? ir::Op::And : ir::Op::Or, first, side());
  }
  ir::UOpRef boolean(int depth) {
    if (depth <= 0) return leaf(ir::Scalar::Bool);
    static constexpr ir::Op kCompare[] = {ir::Op::Lt, ir::Op::Le, ir::Op::Eq, ir::Op::Ne};
    if (below(8) == 0) return interval(below(2) ? ir::Scalar::Index : kTypes[below(8)], depth - 1);
    switch (below(5)) {
      case 0:
        return graph_.unary(ir::Op::Not, boolean(depth - 1));
      case 1:
        return graph_.binary(below(2) ? ir::Op::And : ir::Op::Or, boolean(depth - 1), boolean(depth - 1));
      case 2: {
        const ir::DType type = kTypes[below(9)];
        const ir::UOpRef a = value(type, depth - 1);
        return graph_.binary(kCompare[below(4)], a, below(2) ? constant(type) : value(type, depth - 1));
      }
      case 3:
        return graph_.where(boolean(depth - 1), boolean(depth - 1), boolean(depth - 1));
      default: {
        const ir::UOpRef a = index(depth - 1);
        return graph_.binary(kCompare[below(4)], a, below(2) ? graph_.index(small()) : index(depth - 1));
      }
    }
  }

  ir::UOpRef index_leaf() { return index_leaves_[below(index_leaves_.size())]; }

  ir::UOpRef position(ir::UOpRef sum, ir::UOpRef c0, ir::UOpRef c1, int depth) {
    const ir::UOpRef size = below(2) ? c1 : graph_.index(divisor());
    const ir::UOpRef flat = below(2) ? sum : graph_.add(graph_.mul(index(depth / 2), size), sum);
    switch (below(7)) {
      case 0:
        return graph_.floormod(flat, size);
      case 1:
        return graph_.floordiv(flat, size);
      case 2:
        return graph_.binary(ir::Op::Min, sum, below(2) ? c1 : graph_.index(small()));
      case 3:
        return graph_.binary(ir::Op::Max, sum, below(2) ? c0 : graph_.index(small()));
      case 4:
        return graph_.where(graph_.lt(sum, below(2) ? c1 : index(1)), index(depth), index(depth));
      case 5:
        return graph_.add(sum, graph_.floormod(index_leaf(), graph_.index(divisor())));
      default:
        return index(depth);
    }
  }

  ir::UOpRef body(ir::DType type, ir::UOpRef range, int depth) {
    const ir::UOpRef zero = graph_.constant(type, 0);
    // Another index the range is compared with; also as a fixed width, whose values may lie anywhere.
    ir::UOpRef a = below(3) == 0 ? graph_.add(range, index(depth - 1)) : range, b = index(depth);
    if (below(3) == 0) {
      const ir::DType width = integer_type();
      a = graph_.cast(a, width);
      b = value(width, depth);
    }
    static constexpr ir::Op kCompare[] = {ir::Op::Lt, ir::Op::Le, ir::Op::Eq, ir::Op::Ne};
    ir::UOpRef condition = below(2) ? graph_.binary(kCompare[below(4)], a, b) : graph_.binary(kCompare[below(4)], b, a);
    switch (below(8)) {
      case 7: {  // an interval, which may be empty
        const ir::UOpRef other = graph_.binary(kCompare[below(2)], index(depth), range);
        return graph_.where(graph_.logical_and(other, condition), value(type, 1), below(4) ? zero : value(type, 1));
      }
      case 0:
        return graph_.where(graph_.binary(ir::Op::Eq, a, b), element(type, range), zero);
      case 1:
        return graph_.where(graph_.logical_and(boolean(1), condition), element(type, range), zero);
      case 2:
        return graph_.where(condition, value(type, depth), below(2) ? zero : value(type, depth));
      case 3: {
        const ir::UOpRef linear = graph_.cast(range, type);
        return ir::is_bool(type) ? linear : graph_.add(graph_.mul(linear, value(type, 1)), value(type, depth));
      }
      case 4: {
        const ir::UOpRef chosen = graph_.cast(condition, type);
        return ir::is_bool(type) ? chosen : graph_.mul(chosen, element(type, range));
      }
      case 5:
        return value(type, depth);
      default:
        return below(2) ? leaf(type) : element(type, range);
    }
  }

  // What a buffer of the range's size holds at the range, or at its first element, which an empty loop does not read.
  ir::UOpRef element(ir::DType type, ir::UOpRef range) {
    const std::uint32_t slot = 100 + range->as<ir::RangeInfo>().axis;
    sizes_[slot] = range->source(0);
    const ir::UOpRef buffer = graph_.make(ir::Op::Param, type, {}, ir::ParamInfo{slot});
    const ir::UOpRef position = below(4) ? range : graph_.index(0);
    const ir::UOpRef at = graph_.make(ir::Op::Index, ir::Scalar::Void, {buffer, position, graph_.boolean(true)});
    return graph_.make(ir::Op::Load, type, {at});
  }

  ir::Graph& graph_;
  std::mt19937_64 random_;
  std::uint32_t next_axis_ = 100;
  std::map<std::uint32_t, ir::UOpRef> sizes_;
  std::vector<ir::UOpRef> index_leaves_;
};

}  // namespace hearth::test
