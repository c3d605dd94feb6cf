#include "compiler/passes/kernel/check_bounds.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/lowered/running_loops.h"
#include "compiler/rules/inequality.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

UOpRef size_of(ir::Graph& g, UOpRef memory, std::span<const UOpRef> sizes) {
  if (memory->is(Op::Allocate)) return g.index(memory->as<ir::AllocationInfo>().elements);
  const std::uint32_t slot = memory->as<ir::ParamInfo>().slot;
  return slot < sizes.size() ? sizes[slot] : nullptr;
}

bool inside_by_bounds(UOpRef position, UOpRef size) {
  return position->bounds.min >= 0 && position->bounds.max < size->bounds.min;
}

struct Access {
  UOpRef index;
  UOpRef size;           // elements of its memory; null: there is none
  const Loops* running;  // around it; null: none
};

// Nothing when the access is proved.
std::optional<UnprovedAccess> decide(ir::Graph& g, const Access& of, BoundsCount& count) {
  const auto [index, size, running] = of;
  UOpRef position = index->source(1), gate = index->sources.back();
  ++count.accesses;
  const bool never = gate->is_const() && gate->int_value() == 0;
  if (size == nullptr && !never) return UnprovedAccess{index, nullptr, true, true};
  if (never || inside_by_bounds(position, size)) {
    ++count.by_bounds;
    return std::nullopt;
  }
  rules::Inequalities known(g);
  known.assume(gate);
  if (running) {
    for (UOpRef range : *running) known.assume_at_least(range->source(0), 1);
  }
  UnprovedAccess access{index, size, !known.proves_non_negative(position), !known.proves_below(position, size)};
  if (access.below_zero || access.beyond_end) return access;
  ++count.by_proof;
  return std::nullopt;
}

UOpRef guarded(ir::Graph& g, UOpRef index, const UnprovedAccess& access) {
  UOpRef position = index->source(1), gate = index->sources.back();
  if (!access.size) gate = g.boolean(false);  // no memory to touch
  if (access.size && access.below_zero) gate = ir::fold_and(g, gate, ir::fold_lt(g, g.index(-1), position));
  if (access.size && access.beyond_end) gate = ir::fold_and(g, gate, ir::fold_lt(g, position, access.size));
  return g.with_sources(index, std::vector<UOpRef>{index->source(0), position, gate});
}

// A position may hold loads that are guarded themselves.
UOpRef with_guards(ir::Graph& g, UOpRef kernel, const absl::flat_hash_map<UOpRef, UnprovedAccess>& unproved) {
  return rebuild(g, kernel, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
    const auto access = unproved.find(x);
    return access == unproved.end() ? nullptr : guarded(g, g.with_sources(x, sources), access->second);
  });
}

}  // namespace

void BoundsCount::add(const BoundsCount& other) {
  accesses += other.accesses;
  by_bounds += other.by_bounds;
  by_proof += other.by_proof;
  guarded += other.guarded;
  time_ns += other.time_ns;
}

std::string to_string(const BoundsCount& count) {
  return fmt::format("{} loads and stores: {} in range by their bounds, {} by their gates and loops, {} guarded",
                     count.accesses, count.by_bounds, count.by_proof, count.guarded);
}

std::vector<UnprovedAccess> unproved_accesses(ir::Graph& g, UOpRef kernel, std::span<const UOpRef> sizes,
                                              BoundsCount& count) {
  const std::vector<UOpRef> order = toposort(kernel);
  const auto running = running_loops(order);
  std::vector<UnprovedAccess> unproved;
  for (UOpRef index : order) {
    if (!index->is(Op::Index)) continue;
    auto loops = running.find(index);
    const Loops* const around = loops == running.end() ? nullptr : &loops->second;
    auto access = decide(g, {index, size_of(g, index->source(0), sizes), around}, count);
    if (access) unproved.push_back(*access);
  }
  return unproved;
}

UOpRef guard_bounds(ir::Graph& g, UOpRef kernel, std::span<const UOpRef> sizes, BoundsCount& count) {
  const auto begin = std::chrono::steady_clock::now();
  absl::flat_hash_map<UOpRef, UnprovedAccess> unproved;
  for (const UnprovedAccess& access : unproved_accesses(g, kernel, sizes, count)) unproved[access.index] = access;
  if (!unproved.empty()) kernel = with_guards(g, kernel, unproved);
  count.guarded += unproved.size();
  count.time_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return kernel;
}

}  // namespace hearth::passes
