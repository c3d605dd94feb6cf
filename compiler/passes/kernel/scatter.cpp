#include "compiler/passes/kernel/scatter.h"

#include "compiler/ir/divisors.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/kernel_facts.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

enum Slot : std::uint32_t { kResult, kData, kIndices, kUpdates };
enum Axis : std::uint32_t { kBlock, kDataRow, kDataColumn, kUpdate, kUpdateColumn };

// One operand is data of n rows, one updates of m rows; a row has `row` elements, in blocks of `block`.
class ScatterKernel {
 public:
  ScatterKernel(ir::Graph& g, UOpRef stage, const target::Target& target)
      : g_(g), info_(stage->source(0)->as<ir::ScatterInfo>()), target_(target), dtype_(stage->dtype) {
    buffers_ = {stage};
    for (UOpRef load : stage->source(0)->sources) buffers_.push_back(load->source(0)->source(0));
    const ir::Shape shape = axes_of(stage);
    const auto first = shape.end() - info_.row_axes;
    length_ = num_elements(g, ir::Shape(shape.begin(), first));
    row_ = num_elements(g, ir::Shape(first, shape.end()));
    count_ = num_elements(g, axes_of(buffers_[kIndices]));
    num_blocks_ = blocks();
    block_ = num_blocks_ > 1 ? g.index(row_->int_value() / num_blocks_) : row_;
  }

  const std::vector<UOpRef>& buffers() const { return buffers_; }

  UOpRef flat() const {
    UOpRef at_block = num_blocks_ > 1 ? range(g_.index(num_blocks_), kBlock) : nullptr;
    std::vector<UOpRef> stores = {copy(at_block)};
    if (count_->bounds.max > 0) stores.push_back(write_updates(at_block));
    return g_.make(Op::Sink, ir::Scalar::Void, stores);
  }

  // Vectors along a row, the rest of it under a mask where that is free.
  std::vector<schedule::Opt> opts() const {
    std::vector<schedule::Opt> result;
    add_lanes(kDataColumn, num_blocks_ > 1 ? block_ : ir::fold_mul(g_, length_, row_), result);
    add_lanes(kUpdateColumn, block_, result);
    return result;
  }

 private:
  void add_lanes(Axis axis, UOpRef length, std::vector<schedule::Opt>& opts) const {
    std::int64_t lanes = target_.lanes(byte_size(dtype_));
    const std::int64_t n = length->bounds.max;
    while (lanes > n) lanes /= 2;
    if (lanes < 4) return;
    const bool masked = target_.has_masks() && length->is_const() && n % lanes != 0;
    opts.push_back({masked ? schedule::Opt::Kind::Masked : schedule::Opt::Kind::Lanes, axis, lanes});
  }

  // Columns are divided between as many threads as get whole lines of them.
  std::int64_t blocks() const {
    const std::int64_t threads = target_.threads();
    if (threads < 2 || !row_->is_const()) return 1;
    const std::int64_t line = kCore.line_bytes / byte_size(dtype_);
    const std::int64_t lines = row_->int_value() / line;
    return lines > 0 && row_->int_value() % line == 0 ? ir::largest_divisor(lines, threads) : 1;
  }

  UOpRef range(UOpRef length, Axis axis) const { return g_.range(length, axis, ir::RangeKind::Loop); }
  UOpRef index(Slot slot, UOpRef position, UOpRef gate) const {
    UOpRef param = g_.make(Op::Param, buffers_[slot]->dtype, {}, ir::ParamInfo{slot});
    return g_.make(Op::Index, ir::Scalar::Void, {param, position, gate});
  }
  UOpRef load(Slot slot, UOpRef position, UOpRef gate) const {
    return g_.make(Op::Load, buffers_[slot]->dtype, {index(slot, position, gate)});
  }

  // Row `at` and a column of it; the ranges of both.
  struct Place {
    UOpRef row, column;
    std::vector<UOpRef> ranges;
  };
  Place place(UOpRef at_block, UOpRef rows, Axis row_axis, Axis column_axis) const {
    Place result{range(rows, row_axis), range(block_, column_axis), {}};
    if (at_block) result.ranges.push_back(at_block);
    result.ranges.insert(result.ranges.end(), {result.row, result.column});
    if (at_block) result.column = ir::fold_add(g_, ir::fold_mul(g_, at_block, block_), result.column);
    return result;
  }
  UOpRef position(UOpRef row, UOpRef column) const { return ir::fold_add(g_, ir::fold_mul(g_, row, row_), column); }
  UOpRef store(UOpRef target, UOpRef value, const std::vector<UOpRef>& ranges) const {
    std::vector<UOpRef> sources = {target, value};
    sources.insert(sources.end(), ranges.begin(), ranges.end());
    return g_.make(Op::Store, ir::Scalar::Void, sources);
  }

  UOpRef copy(UOpRef at_block) const {
    if (!at_block) {
      UOpRef at = range(ir::fold_mul(g_, length_, row_), kDataColumn), always = g_.boolean(true);
      return store(index(kResult, at, always), load(kData, at, always), {at});
    }
    const Place p = place(at_block, length_, kDataRow, kDataColumn);
    UOpRef at = position(p.row, p.column), always = g_.boolean(true);
    return store(index(kResult, at, always), load(kData, at, always), p.ranges);
  }

  UOpRef write_updates(UOpRef at_block) const {
    const Place p = place(at_block, count_, kUpdate, kUpdateColumn);
    UOpRef always = g_.boolean(true), row = as_index(g_, load(kIndices, p.row, always));
    // No product of what is outside leaves 64 bits.
    row = g_.binary(Op::Max, g_.binary(Op::Min, row, length_), g_.index(-1));
    UOpRef inside = ir::fold_and(g_, g_.lt(g_.index(-1), row), g_.lt(row, length_));
    UOpRef at = position(row, p.column), value = load(kUpdates, position(p.row, p.column), always);
    if (info_.combines) value = combine(g_, *info_.combines, load(kResult, at, inside), value);
    return store(index(kResult, at, inside), value, p.ranges);
  }

  ir::Graph& g_;
  const ir::ScatterInfo& info_;
  const target::Target& target_;
  ir::DType dtype_;
  std::vector<UOpRef> buffers_;  // by slot
  UOpRef length_ = nullptr, row_ = nullptr, count_ = nullptr, block_ = nullptr;
  std::int64_t num_blocks_ = 1;
};

}  // namespace

absl::StatusOr<KernelTask> scatter_task(ir::Graph& g, UOpRef stage, const target::Target& target) {
  const ScatterKernel kernel(g, stage, target);
  HEARTH_ASSIGN_OR_RETURN(UOpRef flat, rules::simplify(g, kernel.flat()));
  return KernelTask{.flat = flat,
                    .buffers = kernel.buffers(),
                    .provenance = stage->provenance,
                    .own = kernel.opts(),
                    .kind = "scatter"};
}

}  // namespace hearth::passes
