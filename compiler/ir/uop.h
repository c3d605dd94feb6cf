// UOp: the one IR node, from tensor level down to the linear kernel body.
//
// Semantics
//   integers   add, sub, mul, neg and shl wrap in two's complement; `index` is an unbounded integer (import proves that
//              no index expression leaves int64).
//   division   truncdiv/truncmod round towards zero, floordiv/floormod towards minus infinity; x div 0 = 0,
//              x mod 0 = 0; INT_MIN div -1 wraps to INT_MIN, INT_MIN mod -1 = 0.
//   shifts     by >= width or negative: shl and unsigned shr give 0, signed shr gives the sign (0 or -1).
//   floats     IEEE 754, round to nearest even; f16, bf16 and fp8 compute in f32 and round once an op. Between ops of
//              one kernel f16 and bf16 may stay in f32 (passes/ranged/wide_values), but not across `rounded`.
//              max/min: NaN if either is NaN, the sign of a zero result is unspecified. eq/lt/le with NaN are false, ne
//              true. A multiply feeding an add may be fused; a float sum's order, and its sign if 0, are unspecified.
//   cast       float -> int truncates, saturates, NaN gives 0; int -> int wraps; to bool is x != 0; bool is 0 or 1.
//              To a float: one rounding. What rounds beyond the greatest value becomes infinity, in f8e4m3 NaN.
//   fp8        OCP 8-bit floats. f8e5m2: IEEE-like, greatest value 57344, infinities. f8e4m3: the FN form, greatest
//              value 448, no infinity, NaN is 0x7f and 0xff; an empty max is -448. Nothing saturates: who wants that
//              clamps before casting.
//   where      chooses, never computes: the unchosen side may hold NaN or a value that was never loaded.
//   wmma       a[m][k] times b[k][n] in lanes: out[i*n + j] = sum over p < k/group, q < group of
//              a[i*k + p*group + q] * b[(p*n + j)*group + q]. Operands are taken into the result's dtype exactly:
//              bf16 into f32, i8 and u8 (mixed as one likes) into i32, whose sums wrap. In f32 the order of the sum is
//              unspecified, every step rounds once, and subnormal operands and results may count as zero.
//   load       whose gate is false touches no memory and gives the alternative value (zero if absent).
//
// Nodes live in a Graph, are immutable and hash-consed: pointer equality is structural equality within one Graph.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ir/matrix_layout.h"

namespace hearth::ir {

enum class Op : std::uint8_t {
#define OP(name, text, min, max, cls) name,
#include "compiler/ir/ops.def"
  kCount
};
inline constexpr int kNumOps = static_cast<int>(Op::kCount);

enum class OpClass : std::uint8_t {
  Leaf,
  Unary,
  Binary,
  Compare,
  Ternary,
  Convert,
  Movement,
  Reduce,
  Composite,
  Range,
  Memory,
  Vector,
  Control
};

std::string_view op_name(Op op);
OpClass op_class(Op op);
int min_sources(Op op);
int max_sources(Op op);      // -1: any number
bool is_elementwise(Op op);  // Unary, Binary, Compare, Ternary, Convert
bool is_commutative(Op op);
bool is_transcendental(Op op);  // a series of multiply-adds on every target: passes/lowered/decompose writes it out

// A bool/integer constant in `i` (wrapped to its dtype) or a float constant in `f` (rounded to its dtype).
struct ConstValue {
  bool is_float = false;
  std::int64_t i = 0;
  double f = 0;
  // Bitwise, so that NaN equals itself and -0 differs from 0.
  bool operator==(const ConstValue& other) const;
};

struct VarInfo {
  std::string name;
  std::int64_t min = 0, max = 0;
  std::uint32_t slot = 0;  // position in the graph's (before split) or kernel's (after) variables
  bool operator==(const VarInfo&) const = default;
};

enum class BufferKind : std::uint8_t { Input, Output, Parameter, Constant, Arena, Persistent };
struct BufferInfo {
  BufferKind kind = BufferKind::Arena;
  std::uint32_t id = 0;  // position in the plan's buffers
  bool operator==(const BufferInfo&) const = default;
};

struct ParamInfo {
  std::uint32_t slot = 0;
  bool operator==(const ParamInfo&) const = default;
};

// Memory that a kernel writes before it reads; gone when the loops whose values are the sources go on. One that has an
// Invocation among them is that invocation's own, another one its workgroup's together.
struct AllocationInfo {
  std::uint32_t id = 0;       // unique within a kernel
  std::int64_t elements = 0;  // of the dtype
  // The id of the allocation whose memory it lies in: its own, or what passes/kernel/share_allocations chose.
  std::uint32_t memory = 0;
  bool operator==(const AllocationInfo&) const = default;
};

enum class RangeKind : std::uint8_t {
  Loop,    // an output axis
  Reduce,  // a reduced axis
  Grid,    // outermost output axis, divided between threads: runs grid_begin .. grid_end
  Unroll,  // fully unrolled by the expand pass
  Lanes,   // becomes vector lanes in the expand pass
  // What one wmma works on, made in the expand pass; its columns are Lanes.
  Rows,        // an output axis
  Depth,       // reduced: groups that it sums
  Dot,         // reduced: neighbours whose dot product is one element of its sum
  Invocation,  // one of a workgroup: its number there. No loop, and never ends; its size is the workgroup's
};

// Whether the loop is one in the final code; the others, but for Invocation, are gone after the expand pass.
constexpr bool is_loop(RangeKind kind) {
  switch (kind) {
    case RangeKind::Loop:
    case RangeKind::Reduce:
    case RangeKind::Grid:
      return true;
    case RangeKind::Unroll:
    case RangeKind::Lanes:
    case RangeKind::Rows:
    case RangeKind::Depth:
    case RangeKind::Dot:
    case RangeKind::Invocation:
      return false;
  }
  return false;
}

struct RangeInfo {
  std::uint32_t axis = 0;  // unique within a kernel
  RangeKind kind = RangeKind::Loop;
  bool operator==(const RangeInfo&) const = default;
};

struct Axes {
  std::vector<std::int64_t> axes;
  bool operator==(const Axes&) const = default;
};

enum class ReduceKind : std::uint8_t { Sum, Prod, Max, Min };
struct ReduceInfo {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<std::int64_t> axes;  // ReduceAxis only
  bool operator==(const ReduceInfo&) const = default;
};

struct StageInfo {
  std::uint32_t id = 0;  // unique within a graph
  bool forced = false;   // outputs and `contiguous`: never inlined
  bool kept = false;     // lives in its only reader's kernel, a row at a time (passes/ranged/compute_at)
  bool choice = false;   // its value is where(a < b of variables, or a stored bool, ...): see passes/ranged/choices
  bool operator==(const StageInfo&) const = default;
};

struct AccInfo {
  std::uint32_t id = 0;
  bool operator==(const AccInfo&) const = default;
};

struct BarrierInfo {
  std::uint32_t id = 0;  // unique within a kernel
  bool operator==(const BarrierInfo&) const = default;
};

struct LaneInfo {
  std::uint32_t lane = 0;
  bool operator==(const LaneInfo&) const = default;
};

// Sizes of a wmma's matrices; `group` neighbours along k are adjacent in both operands and divide it. With another layout
// than Whole, the matrices are a subgroup's: operands and result are what one invocation has of them.
struct WmmaInfo {
  std::uint16_t m = 1, n = 1, k = 1, group = 1;
  MatrixLayout layout = MatrixLayout::Whole;
  std::uint16_t subgroup = 0;  // of a cooperative one; 0: the layout says it
  bool operator==(const WmmaInfo&) const = default;
};
// The shape of any layout but Whole.
MatrixShape shape_of(const WmmaInfo& info);

// A load or a store of one matrix of a subgroup: element (row, column) lies at index + row * row_stride + column *
// column_stride, one of which is 1. The index is the same for all of the subgroup; the value is an invocation's fragment.
struct MatrixAccess {
  WmmaInfo unit;  // for which the matrix is an operand
  MatrixOperand operand = MatrixOperand::A;
  std::uint32_t row_stride = 1, column_stride = 1;
  bool operator==(const MatrixAccess&) const = default;
};

struct AttentionInfo {
  bool causal = false;    // query t sees keys up to past + t
  std::int64_t past = 0;  // keys before the first query's own
  double scale = 1;       // of the scores; bitwise identity
  bool operator==(const AttentionInfo& other) const;
};

// A value that a hand-written kernel computes (passes/tensor/choose_blobs): opaque, stored, its operands stored in order.
struct BlobInfo {
  std::uint32_t id = 0;          // which one, see passes/tensor/choose_blobs.h
  std::uint32_t num_values = 0;  // how many of the sources are operands
  bool operator==(const BlobInfo&) const = default;
};

// A result of a loop whose body is a graph of its own (passes/import): opaque and stored like a blob's.
struct LoopInfo {
  std::uint32_t id = 0;          // which one, see passes/import/import.h
  std::uint32_t result = 0;      // which of its results
  std::uint32_t num_values = 0;  // how many of the sources are operands, all in the loop's order
  bool operator==(const LoopInfo&) const = default;
};

// Values written at indices along the first axis, one after the other: opaque and stored like a blob's.
struct ScatterInfo {
  std::optional<ReduceKind> combines;  // with what is there already; none: replaces it
  std::uint32_t row_axes = 0;          // axes of the result behind the first (Ranged: those that a stage has)
  bool operator==(const ScatterInfo&) const = default;
};

// A kernel's root: its symbol and what the plan must know.
struct KernelInfo {
  std::string symbol;
  bool operator==(const KernelInfo&) const = default;
};

using Payload = std::variant<std::monostate, ConstValue, VarInfo, BufferInfo, ParamInfo, AllocationInfo, RangeInfo,
                             Axes, ReduceInfo, StageInfo, AccInfo, LaneInfo, WmmaInfo, MatrixAccess, AttentionInfo,
                             BlobInfo, LoopInfo, ScatterInfo, BarrierInfo, KernelInfo>;

// Inclusive bounds of an integer or bool value; for other types unused. Sound: the value never leaves them.
struct Bounds {
  std::int64_t min = 0, max = 0;
  bool operator==(const Bounds&) const = default;
};

class UOp;
using UOpRef = const UOp*;

class UOp {
 public:
  Op op;
  DType dtype;
  std::uint32_t id;  // creation order within the graph: deterministic, never part of an identity
  std::span<const UOpRef> sources;
  Payload payload;
  Bounds bounds;                         // vmin/vmax, computed at creation
  mutable std::uint32_t provenance = 0;  // index into Graph's provenance sets; 0 = none

  UOpRef source(std::size_t i) const { return sources[i]; }
  bool is(Op o) const { return op == o; }
  bool is_const() const { return op == Op::Const; }
  // The integer/bool constant's value; only for integer/bool Const.
  std::int64_t int_value() const { return std::get<ConstValue>(payload).i; }
  double float_value() const { return std::get<ConstValue>(payload).f; }
  template <class T>
  const T& as() const {
    return std::get<T>(payload);
  }
};

// Computed whole, not element by element, from operands that are stored whole.
inline bool is_opaque(UOpRef x) { return x->is(Op::Blob) || x->is(Op::Loop) || x->is(Op::Scatter); }
// How many of an opaque node's sources are operands.
std::size_t num_operands(UOpRef opaque);

inline bool is_loop(UOpRef x) { return x->is(Op::Range) && is_loop(x->as<RangeInfo>().kind); }
// Whether the range's length may be 0.
inline bool may_be_empty(UOpRef range) { return range->source(0)->bounds.min < 1; }
// Whether the loop may run more than once.
inline bool has_rounds(UOpRef range) { return range->source(0)->bounds.max > 1; }
inline bool is_range(UOpRef x, RangeKind kind) { return x->is(Op::Range) && x->as<RangeInfo>().kind == kind; }

}  // namespace hearth::ir
