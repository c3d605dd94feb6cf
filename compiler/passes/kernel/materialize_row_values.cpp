#include "compiler/passes/kernel/materialize_row_values.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

// A transcendental inside of `x` that is done once an element of `range`.
bool works_along(UOpRef x, UOpRef range) {
  std::unordered_map<UOpRef, bool> depends;
  bool found = false;
  for (UOpRef node : toposort(x)) {
    bool d = node == range;
    for (UOpRef s : node->sources) d |= depends.at(s);
    depends[node] = d;
    found |= d && ir::is_transcendental(node->op);
  }
  return found;
}

struct Row {
  UOpRef reduce = nullptr;  // over the row
  UOpRef kept = nullptr;    // its value at the store's position in the row
};

// The reduction whose value the store computes again.
absl::StatusOr<std::optional<Row>> find_row(ir::Graph& g, UOpRef store, UOpRef axis) {
  const std::vector<UOpRef> order = toposort(store->source(1));
  const std::unordered_set<UOpRef> nodes(order.begin(), order.end());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    UOpRef reduce = *it;
    if (!reduce->is(Op::Reduce) || reduce->sources.size() != 2) continue;
    UOpRef range = reduce->source(1);
    if (range->source(0) != axis->source(0) || !works_along(reduce->source(0), range)) continue;
    std::pair<UOpRef, UOpRef> map[] = {{range, axis}};
    // Sums are sorted by their ranges: only the simple form is what the store has.
    HEARTH_ASSIGN_OR_RETURN(UOpRef kept, rules::simplify(g, substitute(g, reduce->source(0), map)));
    if (nodes.contains(kept)) return std::optional<Row>(Row{reduce, kept});
  }
  return std::optional<Row>();
}

std::uint32_t free_allocation(UOpRef kernel) {
  std::uint32_t next = 0;
  for (UOpRef x : toposort(kernel)) {
    if (x->is(Op::Allocate)) next = std::max(next, x->as<ir::AllocationInfo>().id + 1);
  }
  return next;
}

// The stores that take the place of store `i` of the kernel: itself, when it keeps nothing.
absl::StatusOr<std::vector<UOpRef>> stores_of(ir::Graph& g, UOpRef kernel, UOpRef store,
                                              std::int64_t allocation_bytes) {
  std::vector<UOpRef> unchanged = {store};
  if (store->sources.size() < 3) return unchanged;
  UOpRef axis = store->sources.back();
  HEARTH_ASSIGN_OR_RETURN(const std::optional<Row> row, find_row(g, store, axis));
  if (!row) return unchanged;
  const ir::DType dtype = row->kept->dtype;
  const std::int64_t elements = axis->source(0)->bounds.max;
  if (elements < 2 || elements * byte_size(dtype) > allocation_bytes) return unchanged;

  const std::vector<UOpRef> outer(store->sources.begin() + 2, store->sources.end() - 1);
  const std::uint32_t id = free_allocation(kernel);
  UOpRef allocation = g.make(Op::Allocate, dtype, outer, ir::AllocationInfo{id, elements, id});
  auto at = [&](UOpRef range) { return g.make(Op::Index, ir::Scalar::Void, {allocation, range, g.boolean(true)}); };
  auto read = [&](UOpRef range) { return g.make(Op::Load, dtype, {at(range)}); };

  UOpRef writing = g.range(axis->source(0), ir::next_axis(kernel), axis->as<ir::RangeInfo>().kind);
  std::pair<UOpRef, UOpRef> to_writing[] = {{axis, writing}};
  std::vector<UOpRef> first = {at(writing), substitute(g, row->kept, to_writing)};
  first.insert(first.end(), outer.begin(), outer.end());
  first.push_back(writing);

  UOpRef reduced =
      g.with_sources(row->reduce, std::vector<UOpRef>{read(row->reduce->source(1)), row->reduce->source(1)});
  std::pair<UOpRef, UOpRef> to_reading[] = {{row->reduce, reduced}, {row->kept, read(axis)}};
  std::vector<UOpRef> last(store->sources.begin(), store->sources.end());
  last[1] = substitute(g, last[1], to_reading);
  return std::vector<UOpRef>{g.make(Op::Store, ir::Scalar::Void, first), g.make(Op::Store, ir::Scalar::Void, last)};
}

}  // namespace

absl::StatusOr<UOpRef> materialize_row_values(ir::Graph& g, UOpRef kernel, std::int64_t allocation_bytes) {
  for (std::size_t i = 0; i < kernel->sources.size(); ++i) {
    HEARTH_ASSIGN_OR_RETURN(const std::vector<UOpRef> stores,
                            stores_of(g, kernel, kernel->source(i), allocation_bytes));
    if (stores.size() == 1) continue;
    std::vector<UOpRef> all(kernel->sources.begin(), kernel->sources.end());
    all[i] = stores[1];
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(i++), stores[0]);
    kernel = g.make(Op::Sink, kernel->dtype, all, kernel->payload);
  }
  return kernel;
}

}  // namespace hearth::passes
