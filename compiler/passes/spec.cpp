#include "compiler/passes/spec.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/text.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::OpClass;
using ir::UOpRef;

// Ops of each level; elementwise ops are everywhere.
bool op_allowed(Level level, Op op) {
  OpClass cls = ir::op_class(op);
  if (ir::is_elementwise(op)) return level != Level::Lowered || !ir::is_transcendental(op);
  switch (op) {
    case Op::Const:
    case Op::Var:
    case Op::Sink:
      return true;
    case Op::Buffer:
      return level == Level::Tensor || level == Level::Ranged;
    case Op::Iota:
    case Op::ReduceAxis:
    case Op::MatMul:
    case Op::Gather:
    case Op::Attention:
      return level == Level::Tensor;
    case Op::Blob:
    case Op::Loop:
    case Op::Scatter:
      return level == Level::Tensor || level == Level::Ranged;
    case Op::Stage:
      return level == Level::Ranged;
    case Op::Range:
    case Op::Reduce:
    case Op::Index:
    case Op::Load:
      return level != Level::Tensor;
    case Op::Param:
    case Op::Allocate:
    case Op::Store:
      return level >= Level::Flat;
    case Op::Stack:
    case Op::Broadcast:
    case Op::Extract:
    case Op::Horizontal:
      return level >= Level::Flat;
    case Op::Wmma:
      return level >= Level::Scheduled;
    default:
      return cls == OpClass::Movement && level == Level::Tensor;
  }
}

// Kinds of ranges of each level; after expand there are only loops (ir::is_loop).
bool range_allowed(Level level, ir::RangeKind kind) {
  if (kind == ir::RangeKind::Loop || kind == ir::RangeKind::Reduce) return true;
  if (kind == ir::RangeKind::Grid) return level >= Level::Kernel;
  if (kind == ir::RangeKind::Invocation) return level >= Level::Scheduled;
  return level == Level::Scheduled || level == Level::Kernel;
}

bool is_matrix_access_wrong(UOpRef x, ir::DType value) {
  const auto* const matrix = std::get_if<ir::MatrixAccess>(&x->payload);
  if (!matrix) return false;
  UOpRef gate = x->source(0)->sources.back();
  const bool is_one_place = x->source(0)->source(1)->dtype.lanes == 1 && gate->is_const() && gate->int_value() != 0;
  return !x->source(0)->source(0)->is(Op::Allocate) || !is_one_place || (x->is(Op::Load) && x->sources.size() > 1) ||
         (matrix->row_stride != 1 && matrix->column_stride != 1) ||
         value.lanes != ir::shape_of(matrix->unit).fragment(matrix->operand).elements;
}

std::string types_wrong(UOpRef x) {
  auto s = [&](std::size_t i) { return x->source(i)->dtype; };
  switch (ir::op_class(x->op)) {
    case OpClass::Unary:
      return s(0) == x->dtype ? "" : "the source has another dtype";
    case OpClass::Binary:
      return s(0) == x->dtype && s(1) == x->dtype ? "" : "the sources have other dtypes";
    case OpClass::Compare:
      return s(0) == s(1) && is_bool(x->dtype) && x->dtype.lanes == s(0).lanes
                 ? ""
                 : "compared dtypes differ or the result is no bool";
    case OpClass::Ternary:
      if (x->op == Op::Fma)
        return s(0) == x->dtype && s(1) == x->dtype && s(2) == x->dtype ? "" : "the sources have other dtypes";
      return is_bool(s(0)) && s(1) == x->dtype && s(2) == x->dtype && s(0).lanes == x->dtype.lanes
                 ? ""
                 : "where's dtypes do not fit";
    case OpClass::Convert:
      return s(0).lanes == x->dtype.lanes ? "" : "lanes differ";
    default:
      break;
  }
  switch (x->op) {
    case Op::Range:
      return is_int(s(0)) && s(0) == x->dtype && x->dtype.lanes == 1
                 ? ""
                 : "a range needs a scalar integer size of its dtype";
    case Op::Reduce:
      return s(0) == x->dtype ? "" : "the value has another dtype";
    case Op::Index: {
      bool good = is_bool(x->sources.back()->dtype);
      for (std::size_t i = 1; i + 1 < x->sources.size(); ++i) good &= is_int(s(i));
      return good ? "" : "positions must be integers and the gate a bool";
    }
    case Op::Load:
      if (!x->source(0)->is(Op::Index) || x->source(0)->source(0)->dtype.scalar != x->dtype.scalar)
        return "a load needs an index of its dtype";
      return is_matrix_access_wrong(x, x->dtype) ? "a matrix is loaded from an allocation, as its fragments" : "";
    case Op::Store:
      if (!x->source(0)->is(Op::Index) || x->source(0)->source(0)->dtype.scalar != s(1).scalar)
        return "a store needs an index and a value of one dtype";
      return is_matrix_access_wrong(x, s(1)) ? "a matrix is stored to an allocation, as its fragments" : "";
    case Op::Wmma: {
      const auto& w = x->as<ir::WmmaInfo>();
      if (w.layout != ir::MatrixLayout::Whole) {
        const ir::MatrixShape shape = ir::shape_of(w);
        const bool fits = s(0).lanes == shape.a.elements && s(1).lanes == shape.b.elements &&
                          x->dtype.lanes == shape.sum.elements && w.m == shape.m && w.n == shape.n && w.k == shape.k;
        return fits && ir::matrix_result(s(0).scalar, s(1).scalar) == x->dtype.scalar
                   ? ""
                   : "wmma's dtypes or lanes do not fit its layout";
      }
      const bool lanes = s(0).lanes == w.m * w.k && s(1).lanes == w.k * w.n && x->dtype.lanes == w.m * w.n;
      return lanes && ir::wmma_result(s(0).scalar, s(1).scalar) == x->dtype.scalar
                 ? ""
                 : "wmma's dtypes or lanes do not fit its sizes";
    }
    default:
      return "";
  }
}

}  // namespace

absl::Status check(Level level, std::string_view pass, UOpRef root) {
  for (UOpRef x : toposort(root)) {
    std::string why;
    if (!op_allowed(level, x->op)) {
      why = "is not legal here";
    } else if (x->is(Op::Range) && !range_allowed(level, x->as<ir::RangeInfo>().kind)) {
      why = level >= Level::Expanded ? "should have been expanded" : "is not legal here";
    } else if (level == Level::Lowered && is_index(x->dtype)) {
      why = "still has dtype index";
    } else {
      why = types_wrong(x);
    }
    if (!why.empty()) return absl::InternalError(fmt::format("after {}: {} {}", pass, ir::describe(x), why));
  }
  return absl::OkStatus();
}

namespace {

// What invocations of a workgroup have different values of, as far as the lines so far say.
class Divergence {
 public:
  void see(UOpRef x, std::span<const UOpRef> open) {
    bool differs = ir::is_range(x, ir::RangeKind::Invocation) ||
                   (x->is(Op::Load) && x->source(0)->source(0)->is(Op::Allocate)) ||
                   std::ranges::any_of(x->sources, [&](UOpRef source) { return of(source); });
    if (x->is(Op::AccUpdate) && (differs || std::ranges::any_of(open, [&](UOpRef loop) { return is_loop_of(loop); })))
      differs_.insert(x->source(0));
    if (differs) differs_.insert(x);
  }
  bool of(UOpRef x) const { return differs_.contains(x); }
  // Whether they run it differently often.
  bool is_loop_of(UOpRef loop) const { return of(loop->source(0)); }

 private:
  std::unordered_set<UOpRef> differs_;
};

}  // namespace

absl::Status check_linear(const LinearKernel& kernel) {
  std::unordered_set<UOpRef> defined;
  Divergence divergence;
  UOpRef invocation = nullptr;
  std::vector<UOpRef> open;
  std::unordered_map<UOpRef, std::vector<UOpRef>> scope;  // loops open where the node was defined
  for (UOpRef x : kernel.body) {
    auto fail = [&](std::string_view why) {
      return absl::InternalError(fmt::format("linear kernel {}: {} {}", kernel.symbol, ir::describe(x), why));
    };
    if (!defined.insert(x).second) return fail("stands twice");
    for (UOpRef s : x->sources) {
      if (!defined.contains(s)) return fail("uses what comes later");
      if (x->is(Op::End)) continue;
      for (UOpRef loop : scope.at(s)) {
        if (std::find(open.begin(), open.end(), loop) == open.end() && !s->is(Op::End))
          return fail("uses a value of a closed loop");
      }
    }
    if (x->is(Op::End)) {
      if (open.empty() || open.back() != x->source(0)) return fail("closes a loop that is not the innermost");
      open.pop_back();
    }
    if (ir::is_range(x, ir::RangeKind::Invocation)) {
      if (invocation || !x->source(0)->is_const()) return fail("is a second workgroup, or one of any size");
      invocation = x;
    } else if (x->is(Op::Range)) {
      open.push_back(x);
    }
    divergence.see(x, open);
    if ((x->is(Op::Barrier) || x->is(Op::Exchange)) &&
        std::ranges::any_of(open, [&](UOpRef loop) { return divergence.is_loop_of(loop); }))
      return fail("stands in a loop that invocations of a workgroup run differently often");
    scope[x] = open;
    if (is_index(x->dtype)) return fail("has dtype index");
    if (ir::is_transcendental(x->op)) return fail("should have been decomposed");
  }
  if (!open.empty()) return absl::InternalError(fmt::format("linear kernel {}: a loop is never closed", kernel.symbol));
  return absl::OkStatus();
}

}  // namespace hearth::passes
