#include "tests/unit/bounds/transfer/transfer_checker.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tests/unit/rules/evaluator.h"

namespace hearth::test {

using ir::Bounds;
using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOp;
using ir::UOpRef;
using Wide = __int128;

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
constexpr Scalar kIntegers[] = {Scalar::I8,  Scalar::U8,  Scalar::I16, Scalar::U16,  Scalar::I32,
                                Scalar::U32, Scalar::I64, Scalar::U64, Scalar::Index};
constexpr Op kUnary[] = {Op::Neg, Op::Abs, Op::Not};
constexpr Op kBinary[] = {Op::Add,      Op::Sub, Op::Mul, Op::FloorDiv, Op::FloorMod, Op::TruncDiv,
                          Op::TruncMod, Op::Max, Op::Min, Op::And,      Op::Or,       Op::Xor,
                          Op::Shl,      Op::Shr, Op::Lt,  Op::Le,       Op::Eq,       Op::Ne};
constexpr Op kOfBools[] = {Op::Add, Op::Mul, Op::Max, Op::Min, Op::And, Op::Or,
                           Op::Xor, Op::Lt,  Op::Le,  Op::Eq,  Op::Ne};

bool is_compare(Op op) { return ir::op_class(op) == ir::OpClass::Compare; }

std::string text(Wide value) {
  if (value > kMax) return "2^63 + " + std::to_string(static_cast<std::int64_t>(value - kMax - 1));
  return std::to_string(static_cast<std::int64_t>(value));
}
std::string text(Bounds b) { return "[" + text(b.min) + ", " + text(b.max) + "]"; }

struct Hull {
  Wide low = Wide(1) << 100, high = -(Wide(1) << 100);
  void add(const Hull& other) { low = std::min(low, other.low), high = std::max(high, other.high); }
  void add(Wide value) { add(Hull{value, value}); }
  bool empty() const { return low > high; }
  // An end at the limit of int64 is no bound.
  bool within(Bounds b) const {
    return empty() || ((b.min == kMin || low >= b.min) && (b.max == kMax || high <= b.max));
  }
};

// A node with these bounds and nothing else.
struct Leaf {
  UOp node{};
  explicit Leaf(DType dtype) { node.dtype = dtype, node.op = Op::Param; }
};

// Values of a type in order, and the intervals over them: two positions among the values, with the bounds they make.
struct Values {
  // `beyond`: of an index also values outside int64, which an open end covers.
  Values(DType dtype, Ends ends, bool beyond = false) : dtype(dtype) {
    const bool all = ir::bit_width(dtype) == 8 || ir::is_bool(dtype);
    all ? every_value(ends) : corner_values(beyond && ir::is_index(dtype) ? 2 : 0);
  }

  DType dtype;
  std::vector<Wide> points;
  std::vector<std::size_t> ends, all_ends;  // positions among the points

  std::int64_t end(std::size_t point) const {
    return static_cast<std::int64_t>(std::clamp<Wide>(points[point], kMin, kMax));
  }

 private:
  void every_value(Ends which) {
    for (Wide v = ir::int_min(dtype); v <= ir::int_max(dtype); ++v) {
      constexpr int kCorners[] = {-128, -127, -8, -1, 0, 1, 2, 7, 100, 126, 127, 128, 254, 255};
      const bool corner = std::ranges::find(kCorners, static_cast<int>(v)) != std::end(kCorners);
      if (corner || ir::is_bool(dtype)) ends.push_back(points.size());
      all_ends.push_back(points.size());
      points.push_back(v);
    }
    if (which == Ends::Corners) all_ends = ends;
  }

  void corner_values(int beyond) {
    const bool top = dtype.scalar == Scalar::U64;
    const Wide least = Wide(ir::int_min(dtype)) - beyond;
    const Wide most = top ? Wide(std::numeric_limits<std::uint64_t>::max()) : Wide(ir::int_max(dtype)) + beyond;
    for (const Wide around : {least, Wide(kMin), Wide(-9), Wide(0), Wide(9), Wide(1) << 15, Wide(kMax), most}) {
      for (int near = -1; near <= 1; ++near) {
        if (around + near >= least && around + near <= most) points.push_back(around + near);
      }
    }
    std::ranges::sort(points);
    points.erase(std::ranges::unique(points).begin(), points.end());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i] >= kMin && points[i] <= kMax) ends.push_back(i);
    }
    all_ends = ends;
  }
};

// The first and last point of an interval with these ends; beyond int64 where an end means "no bound".
std::size_t first_point(const Values& values, std::size_t low) { return values.points[low] == kMin ? 0 : low; }
std::size_t last_point(const Values& values, std::size_t high) {
  return values.points[high] == kMax ? values.points.size() - 1 : high;
}

class Checker {
 public:
  Checker(Transfer transfer, Ends ends, TransferCounts& counts) : transfer_(transfer), ends_(ends), counts_(counts) {}

  std::optional<std::string> run() {
    for (const Scalar type : kIntegers) {
      for (const Op op : kUnary) unary(op, type, type);
      for (const Scalar to : kIntegers) unary(Op::Cast, type, to);
      unary(Op::Cast, type, Scalar::Bool);
      for (const Op op : kBinary) {
        if (!found_) binary(op, type);
      }
      if (!found_) structure(type);
    }
    unary(Op::Not, Scalar::Bool, Scalar::Bool);
    for (const Scalar to : kIntegers) unary(Op::Cast, Scalar::Bool, to);
    unary(Op::Cast, Scalar::Bool, Scalar::Bool);
    for (const Op op : kOfBools) binary(op, Scalar::Bool);
    structure(Scalar::Bool);
    return found_;
  }

 private:
  void expect(Op op, DType type, std::span<const UOpRef> sources, const ir::Payload& payload, const Hull& hull) {
    ++counts_.cases;
    const Bounds bounds = transfer_(op, type, sources, payload);
    if (found_ || hull.within(bounds)) return;
    found_ = std::string(ir::op_name(op)) + " " + ir::to_string(type) + " of";
    for (UOpRef source : sources) *found_ += " " + ir::to_string(source->dtype) + text(source->bounds);
    *found_ += " is said to be in " + text(bounds) + ", but is " + text(hull.low) + " or " + text(hull.high);
  }

  void unary(Op op, DType from, DType to) {
    if (found_) return;
    const Values values(from, Ends::One);
    Leaf a(from), result(to);
    result.node.op = op;
    const UOpRef sources[] = {&a.node};
    for (const std::size_t low : values.all_ends) {
      Hull hull;
      std::size_t next = low;
      for (const std::size_t high : values.all_ends) {
        if (high < low) continue;
        for (const std::size_t last = last_point(values, high); next <= last; ++next) {
          if (const auto v = operate(&result.node, values.points[next], 0)) hull.add(*v);
        }
        a.node.bounds = {values.end(low), values.end(high)};
        expect(op, to, sources, {}, hull);
      }
    }
  }

  // Every interval of one operand with those of the other whose ends are `ends`, and the other way round.
  void binary(Op op, DType type) {
    const Values values(type, ends_, !is_compare(op));
    const std::size_t n = values.points.size();
    Leaf result(is_compare(op) ? DType(Scalar::Bool) : type);
    result.node.op = op;
    // The operands' type decides what wraps; a comparison's does not.
    std::vector<Hull> table(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (const auto v = operate(&result.node, values.points[i], values.points[j])) table[i * n + j].add(*v);
      }
    }
    const bool both_the_same = values.ends == values.all_ends;
    for (const bool swapped : {false, true}) {
      if (swapped && both_the_same) break;
      for (const std::size_t low : values.all_ends) {
        std::vector<Hull> over(n);  // the other operand's value -> what all of the first's give
        std::size_t next = first_point(values, low);
        for (const std::size_t high : values.all_ends) {
          if (high < low) continue;
          for (const std::size_t last = last_point(values, high); next <= last; ++next) {
            for (std::size_t j = 0; j < n; ++j) over[j].add(swapped ? table[j * n + next] : table[next * n + j]);
          }
          others(op, result.node.dtype, values, {values.end(low), values.end(high)}, over, swapped);
          if (found_) return;
        }
      }
    }
  }

  void others(Op op, DType type, const Values& values, Bounds first, const std::vector<Hull>& over, bool swapped) {
    Leaf a(values.dtype), b(values.dtype);
    const UOpRef sources[] = {&a.node, &b.node};
    UOp& outer = swapped ? b.node : a.node;
    UOp& inner = swapped ? a.node : b.node;
    outer.bounds = first;
    // What lies from one end up to the next, once for all intervals.
    std::vector<Hull> from(values.ends.size());
    for (std::size_t e = 0; e < from.size(); ++e) {
      const std::size_t begin = e == 0 ? values.ends[0] : values.ends[e - 1] + 1;
      for (std::size_t j = begin; j <= last_point(values, values.ends[e]); ++j) from[e].add(over[j]);
    }
    for (std::size_t low = 0; low < values.ends.size(); ++low) {
      Hull hull;
      const std::size_t own_last = last_point(values, values.ends[low]);
      for (std::size_t j = first_point(values, values.ends[low]); j <= own_last; ++j) hull.add(over[j]);
      for (std::size_t high = low; high < values.ends.size(); ++high) {
        if (high > low) hull.add(from[high]);
        inner.bounds = {values.end(values.ends[low]), values.end(values.ends[high])};
        expect(op, type, sources, {}, hull);
      }
    }
  }

  // What chooses among its sources' values or repeats them.
  void structure(DType type) {
    const Values values(type, Ends::Corners);
    std::vector<Bounds> intervals;
    for (const std::size_t low : values.ends) {
      for (const std::size_t high : values.ends) {
        if (high >= low) intervals.push_back({values.end(low), values.end(high)});
      }
    }
    Leaf a(type), b(type), condition{DType(Scalar::Bool)};
    const Bounds conditions[] = {{0, 0}, {0, 1}, {1, 1}};
    // What lies beyond int64 counts as its upper end: where that is no bound it always is inside.
    const auto hull_of = [](Bounds x) { return Hull{x.min, x.max}; };
    const auto join = [&](Bounds x, Bounds y) {
      Hull hull = hull_of(x);
      hull.add(hull_of(y));
      return hull;
    };
    const UOpRef one[] = {&a.node}, two[] = {&a.node, &b.node}, chosen[] = {&condition.node, &a.node, &b.node};
    for (std::size_t v = 0; v < values.points.size(); ++v) {
      ir::ConstValue constant;
      constant.i = static_cast<std::int64_t>(values.points[v]);  // the bits of a u64
      Hull hull;
      hull.add(values.points[v]);
      expect(Op::Const, type, {}, constant, hull);
    }
    for (const Bounds& x : intervals) {
      a.node.bounds = x;
      for (const Op op : {Op::Broadcast, Op::Extract, Op::Reshape, Op::Expand, Op::Permute, Op::Shrink, Op::Flip,
                          Op::Unfold, Op::Contiguous}) {
        expect(op, type, one, {}, hull_of(x));
      }
      expect(Op::Var, type, {}, ir::VarInfo{"v", x.min, x.max}, hull_of(x));
      reductions(type, one, x);
      if (ir::is_index(type) && x.max > 0) expect(Op::Range, type, one, {}, Hull{0, x.max == kMax ? kMax : x.max - 1});
      for (const Bounds& y : intervals) {
        b.node.bounds = y;
        for (const Bounds& c : conditions) {
          condition.node.bounds = c;
          expect(Op::Where, type, chosen, {}, c.max == 0 ? hull_of(y) : c.min == 1 ? hull_of(x) : join(x, y));
        }
        expect(Op::Stack, type.with_lanes(2), two, {}, join(x, y));
        expect(Op::Pad, type, two, {}, join(x, y));
      }
      if (found_) return;
    }
  }

  // Max and min give one of the values, or what nothing gives; sums and products of any number of them wrap.
  void reductions(DType type, std::span<const UOpRef> source, Bounds x) {
    for (const Op op : {Op::Reduce, Op::ReduceAxis, Op::Horizontal}) {
      for (const ir::ReduceKind kind :
           {ir::ReduceKind::Max, ir::ReduceKind::Min, ir::ReduceKind::Sum, ir::ReduceKind::Prod}) {
        const bool is_max = kind == ir::ReduceKind::Max;
        Hull hull{x.min, x.max};
        if (is_max || kind == ir::ReduceKind::Min) {
          if (op != Op::Horizontal) hull.add(is_max ? ir::int_min(type) : ir::int_max(type));
        } else {
          const bool sum = kind == ir::ReduceKind::Sum;
          if (op != Op::Horizontal) hull.add(sum ? 0 : 1);
          Leaf pair(type);
          pair.node.op = sum ? Op::Add : Op::Mul;
          for (const Wide v : {Wide(x.min), Wide(x.max)}) {
            if (const auto twice = operate(&pair.node, v, v)) hull.add(*twice);
          }
        }
        expect(op, type, source, ir::ReduceInfo{kind, {}}, hull);
      }
    }
  }

  Transfer transfer_;
  Ends ends_;
  TransferCounts& counts_;
  std::optional<std::string> found_;
};

}  // namespace

std::optional<std::string> check_transfer(Transfer transfer, Ends ends, TransferCounts* counts) {
  TransferCounts own;
  return Checker(transfer, ends, counts != nullptr ? *counts : own).run();
}

}  // namespace hearth::test
