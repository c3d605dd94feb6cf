#include "compiler/passes/kernel/block_rows.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/kept_rows.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMaxRows = 16;

// Rows of a block: as many as the allocations may hold, and a divisor of a constant number of rows if there is a good
// one.
std::int64_t rows_of_block(UOpRef rows, std::int64_t bytes_per_row, std::int64_t allocation_bytes) {
  UOpRef size = rows->source(0);
  const std::int64_t fit = std::max<std::int64_t>(allocation_bytes / bytes_per_row, 1);
  const std::int64_t most = std::min({fit, kMaxRows, size->bounds.max});
  for (std::int64_t n = most; size->is_const() && 2 * n > most; --n) {
    if (size->int_value() % n == 0) return n;
  }
  return most;
}

class Blocker {
 public:
  Blocker(ir::Graph& g, UOpRef kernel, UOpRef rows, const target::Target& target)
      : g_(g), kernel_(kernel), rows_(rows), target_(target), next_axis_(ir::next_axis(kernel)) {
    for (UOpRef x : toposort(kernel)) {
      if (!x->is(Op::Allocate) || !depends(x)) continue;
      const auto& info = x->as<ir::AllocationInfo>();
      if (info.memory != info.id) continue;
      bytes_per_row_ += info.elements * byte_size(x->dtype);
      elements_ = std::max(elements_, info.elements);
      ++num_allocations_;
      all_rows_ = 1;
      for (UOpRef loop : x->sources) all_rows_ *= std::max<std::int64_t>(1, loop->source(0)->bounds.max);
    }
  }

  absl::StatusOr<UOpRef> run() {
    if (bytes_per_row_ == 0) return kernel_;
    count_ = of_workgroup() ? rows_of_workgroup() : rows_of_block(rows_, bytes_per_row_, target_.allocation_bytes());
    if (count_ < 2) return kernel_;
    UOpRef size = rows_->source(0), n = g_.index(count_);
    UOpRef blocks = ir::fold_floordiv(g_, ir::fold_add(g_, size, g_.index(count_ - 1)), n);
    block_ = range(blocks);
    begin_ = ir::fold_mul(g_, block_, n);
    const bool whole = size->is_const() && size->int_value() % count_ == 0;
    length_ = whole ? n : g_.binary(Op::Min, n, ir::fold_sub(g_, size, begin_));
    std::vector<UOpRef> stores;
    for (UOpRef store : kernel_->sources) stores.push_back(blocked(store));
    return rules::simplify(g_, g_.make(Op::Sink, kernel_->dtype, stores, kernel_->payload));
  }

 private:
  bool depends(UOpRef allocation) const {
    return std::ranges::find(allocation->sources, rows_) != allocation->sources.end();
  }
  bool of_workgroup() const { return target_.unit() == target::Unit::Invocation; }
  std::int64_t rows_of_workgroup() const {
    if (!rows_->source(0)->is_const()) return 1;
    return schedule::kept_rows({rows_->source(0)->int_value(), all_rows_, elements_, num_allocations_}, target_).rows;
  }
  std::int64_t pitch_of(std::int64_t elements) const {
    return of_workgroup() ? schedule::pitch_of_kept_rows(elements, count_) : elements;
  }
  UOpRef range(UOpRef size) { return g_.range(size, next_axis_++, rows_->as<ir::RangeInfo>().kind); }

  UOpRef block_of_allocation(UOpRef allocation) {
    std::vector<UOpRef> loops(allocation->sources.begin(), allocation->sources.end());
    std::ranges::replace(loops, rows_, block_);
    ir::AllocationInfo info = allocation->as<ir::AllocationInfo>();
    info.elements = pitch_of(info.elements) * count_;
    return g_.make(Op::Allocate, allocation->dtype, loops, info);
  }

  UOpRef blocked(UOpRef store) {
    UOpRef row = range(length_);  // in the block
    return rebuild(g_, store, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
      if (x == rows_) return ir::fold_add(g_, begin_, row);
      if (x == store) return g_.with_sources(x, loops_of_block(x, sources, row));
      if (x->is(Op::Allocate) && depends(x)) return block_of_allocation(x);
      if (x->is(Op::Index) && x->source(0)->is(Op::Allocate) && depends(x->source(0))) {
        UOpRef elements = g_.index(pitch_of(x->source(0)->as<ir::AllocationInfo>().elements));
        sources[1] = ir::fold_add(g_, ir::fold_mul(g_, row, elements), sources[1]);
      }
      return nullptr;
    });
  }

  // `sources` of a store with the loops over blocks and rows in the place of the one over all rows.
  ir::Sources loops_of_block(UOpRef store, const ir::Sources& sources, UOpRef row) {
    ir::Sources out = {sources[0], sources[1]};
    for (std::size_t i = 2; i < sources.size(); ++i) {
      const bool is_rows = store->source(i) == rows_;
      out.push_back(is_rows ? block_ : sources[i]);
      if (is_rows) out.push_back(row);
    }
    return out;
  }

  ir::Graph& g_;
  UOpRef kernel_, rows_;
  const target::Target& target_;
  std::uint32_t next_axis_;
  UOpRef block_ = nullptr, begin_ = nullptr, length_ = nullptr;
  std::int64_t bytes_per_row_ = 0, elements_ = 0, num_allocations_ = 0, all_rows_ = 1, count_ = 0;
};

}  // namespace

absl::StatusOr<UOpRef> block_rows(ir::Graph& graph, UOpRef kernel, UOpRef rows, const target::Target& target) {
  if (!rows) return kernel;
  return Blocker(graph, kernel, rows, target).run();
}

}  // namespace hearth::passes
