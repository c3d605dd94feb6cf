#include "compiler/schedule/kept_rows.h"

#include <algorithm>
#include <bit>

#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/lengths.h"

namespace hearth::schedule {
namespace {

using ir::UOpRef;

constexpr std::int64_t kMostRows = 8;  // of a workgroup: each element that is read serves as many multiply-adds
constexpr std::int64_t kBanks = 32;    // of shared memory, of 32 bits each
constexpr std::int64_t kValueBytes = 4;

std::int64_t power_below(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

std::uint32_t axis_of(UOpRef range) { return range->as<ir::RangeInfo>().axis; }

// The opts of one store; nothing: it is of another kind.
class StoreOpts {
 public:
  StoreOpts(const KernelFacts& facts, const KeptRows& kept) : f_(facts), kept_(kept) {}

  bool add_to(std::vector<Opt>& opts) {
    const std::size_t own = f_.outputs.size();
    if (own == 0 || own > 2 || f_.reduces.empty()) return false;
    column_ = f_.outputs.back();
    row_ = own == 2 ? f_.outputs.front() : nullptr;
    const auto moves_with_column = [&](UOpRef reduce) { return f_.depends_on(reduce, column_); };
    if (std::ranges::none_of(f_.reduces, moves_with_column)) return add_rows(opts);
    return f_.store->source(0)->source(0)->is(ir::Op::Allocate) ? add_kept_products(opts) : add_results(opts);
  }

 private:
  void divide(std::vector<Opt>& opts, UOpRef range, std::int64_t amount) const {
    if (amount < 2) return;
    if (!KernelFacts::is_multiple(range, amount)) opts.push_back({Opt::Kind::PadTo, axis_of(range), amount});
    opts.push_back({Opt::Kind::Workgroup, axis_of(range), amount});
  }
  void unroll_rows(std::vector<Opt>& opts, std::int64_t amount) const {
    if (row_ != nullptr && amount > 1) opts.push_back({Opt::Kind::Unroll, axis_of(row_), amount});
  }
  // The ranges of all reductions, which are divided among as many invocations.
  bool divide_sums(std::vector<Opt>& opts, std::int64_t amount) const {
    std::vector<UOpRef> ranges;
    for (UOpRef reduce : f_.reduces) {
      if (reduce->sources.size() != 2 || byte_size(reduce->dtype) != kValueBytes) return false;
      if (std::ranges::find(ranges, reduce->source(1)) == ranges.end()) ranges.push_back(reduce->source(1));
    }
    if (amount < 2) return true;
    for (UOpRef range : ranges) opts.push_back({Opt::Kind::Workgroup, axis_of(range), amount});
    return true;
  }

  // A sum for each element of a row: an invocation has elements of all rows.
  bool add_kept_products(std::vector<Opt>& opts) const {
    divide(opts, column_, kept_.invocations);
    unroll_rows(opts, kept_.rows);
    return true;
  }
  // Invocations of one row are as far apart as there are rows: together they have the row's sums.
  bool add_rows(std::vector<Opt>& opts) const {
    const std::int64_t of_a_row = kept_.invocations / kept_.rows;
    divide(opts, column_, of_a_row);
    if (row_ != nullptr) divide(opts, row_, kept_.rows);
    return divide_sums(opts, of_a_row);
  }
  // Products with the kept rows, stored side by side; where there are invocations left they have other rows, then
  // shares of the sums.
  bool add_results(std::vector<Opt>& opts) const {
    const std::int64_t across = std::min(kept_.invocations, power_below(assumed_length(column_)));
    const std::int64_t rows = std::min(kept_.rows, kept_.invocations / across);
    if (row_ != nullptr) {
      unroll_rows(opts, kept_.rows / rows);
      divide(opts, row_, rows);
    }
    divide(opts, column_, across);
    return divide_sums(opts, kept_.invocations / across / rows);
  }

  const KernelFacts& f_;
  const KeptRows& kept_;
  UOpRef column_ = nullptr, row_ = nullptr;
};

}  // namespace

KeptRows kept_rows(const RowsToKeep& of, const target::Target& target) {
  KeptRows kept;
  if (of.elements < 2 || of.rows < 1) return kept;
  kept.invocations = power_below(std::min(target.max_workgroup(), of.elements));
  if (kept.invocations < std::max<std::int64_t>(2, target.subgroup_size())) return kept;
  for (std::int64_t rows = kMostRows; rows > 0; rows /= 2) {
    const std::int64_t values = of.copies * rows * pitch_of_kept_rows(of.elements, rows) + 2 * kept.invocations;
    if (of.rows % rows != 0 || values * kValueBytes > target.shared_bytes() || 2 * rows > kept.invocations) continue;
    if (rows > 1 && of.all_rows / rows * kept.invocations < target.wanted_invocations()) continue;
    kept.rows = rows;
    break;
  }
  return kept;
}

std::int64_t pitch_of_kept_rows(std::int64_t elements, std::int64_t rows) {
  return rows < 2 ? elements : (elements + kBanks - 1) / kBanks * kBanks + kBanks / rows;
}

std::vector<Opt> opts_of_kept_rows(UOpRef kernel, const target::Target& target) {
  KeptRows kept{1, 0};
  std::int64_t elements = 0, num_allocations = 0;
  for (UOpRef x : ir::toposort(kernel)) {
    if (!x->is(ir::Op::Allocate)) continue;
    elements = std::max(elements, x->as<ir::AllocationInfo>().elements);
    ++num_allocations;
  }
  if (num_allocations == 0) return {};
  std::vector<KernelFacts> all;
  for (UOpRef store : kernel->sources) all.emplace_back(kernel, store, target);
  for (const KernelFacts& facts : all) {
    if (facts.outputs.size() == 2) kept.rows = KernelFacts::size(facts.outputs.front());
  }
  if (kept.rows < 1) return {};
  for (const KernelFacts& facts : all) {  // a row's own length
    if (facts.outputs.empty()) return {};
    if (facts.store->source(0)->source(0)->is(ir::Op::Allocate))
      elements = std::min(elements, KernelFacts::largest_size(facts.outputs.back()));
  }
  kept.invocations = kept_rows({1, 1, elements, num_allocations}, target).invocations;
  if (kept.invocations < 2 * kept.rows) return {};
  std::vector<Opt> opts;
  for (const KernelFacts& facts : all) {
    if (!StoreOpts(facts, kept).add_to(opts)) return {};
  }
  return opts;
}

}  // namespace hearth::schedule
