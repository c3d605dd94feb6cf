// Random expressions for the simplifier: every integer width, bool, and index over ranges and bounded variables with
// the div/mod shapes that reshapes produce. Deterministic in its seed.
#pragma once
#include <cstdint>
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

  ir::UOpRef expression(int depth) {
    static constexpr ir::Scalar kTypes[] = {ir::Scalar::I8,  ir::Scalar::I16, ir::Scalar::I32,
                                            ir::Scalar::I64, ir::Scalar::U8,  ir::Scalar::U16,
                                            ir::Scalar::U32, ir::Scalar::U64, ir::Scalar::Bool};
    if (below(2) == 0) return index(depth);
    return value(ir::DType(kTypes[below(9)]), depth);
  }

  ir::UOpRef index(int depth) {
    const ir::DType type(ir::Scalar::Index);
    if (depth == 0 || below(8) == 0) {
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
    if (depth == 0 || below(10) == 0) return leaf(type);
    if (ir::is_bool(type)) return boolean(depth);
    switch (below(10)) {
      case 0:
        return graph_.unary(below(3) ? ir::Op::Neg : below(2) ? ir::Op::Not : ir::Op::Abs, value(type, depth - 1));
      case 1:
        return graph_.where(boolean(depth - 1), value(type, depth - 1), value(type, depth - 1));
      case 2: {
        static constexpr ir::Scalar kFrom[] = {ir::Scalar::I8, ir::Scalar::U8, ir::Scalar::I32, ir::Scalar::U64,
                                               ir::Scalar::Bool};
        return graph_.cast(value(kFrom[below(5)], depth - 1), type);
      }
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
  ir::UOpRef boolean(int depth) {
    if (depth == 0) return leaf(ir::Scalar::Bool);
    static constexpr ir::Op kCompare[] = {ir::Op::Lt, ir::Op::Le, ir::Op::Eq, ir::Op::Ne};
    static constexpr ir::Scalar kTypes[] = {ir::Scalar::I8, ir::Scalar::U8, ir::Scalar::I64, ir::Scalar::U64,
                                            ir::Scalar::Bool};
    switch (below(5)) {
      case 0:
        return graph_.unary(ir::Op::Not, boolean(depth - 1));
      case 1:
        return graph_.binary(below(2) ? ir::Op::And : ir::Op::Or, boolean(depth - 1), boolean(depth - 1));
      case 2: {
        const ir::DType type = kTypes[below(5)];
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

  ir::Graph& graph_;
  std::mt19937_64 random_;
  std::vector<ir::UOpRef> index_leaves_;
};

}  // namespace hearth::test
