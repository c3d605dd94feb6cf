#include "compiler/passes/plan/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "compiler/passes/plan/lifetimes.h"

namespace hearth::passes {
namespace {

constexpr int kMaxRounds = 32;  // orders tried for an arena above its lower bound

// Lifetimes that have their place, by launch. An insertion takes O(log launches), a query that and what it finds.
class Placed {
 public:
  explicit Placed(std::size_t num_launches) : num_launches_(num_launches), covers_(2 * num_launches) {}

  void insert(const Lifetime* x) {
    starts_.emplace(x->first, x);
    for (std::size_t l = x->first + num_launches_, r = x->last + num_launches_ + 1; l < r; l /= 2, r /= 2) {
      if (l % 2) covers_[l++].push_back(x);
      if (r % 2) covers_[--r].push_back(x);
    }
  }

  // The buffers that are live together with x, by offset.
  const std::vector<const Lifetime*>& overlapping(const Lifetime& x) {
    found_.clear();
    for (std::size_t l = x.first + num_launches_; l > 0; l /= 2)
      found_.insert(found_.end(), covers_[l].begin(), covers_[l].end());
    for (auto it = starts_.upper_bound(x.first); it != starts_.end() && it->first <= x.last; ++it)
      found_.push_back(it->second);
    std::ranges::sort(found_, {}, &Lifetime::offset);  // equal offsets: no gap between them, in whatever order
    return found_;
  }

 private:
  std::size_t num_launches_;
  std::vector<std::vector<const Lifetime*>> covers_;    // segment tree: node -> those live in all of its launches
  std::multimap<std::size_t, const Lifetime*> starts_;  // by first launch
  std::vector<const Lifetime*> found_;
};

// Bytes that are live at each launch.
std::vector<std::uint64_t> live_bytes(const std::vector<Lifetime>& arena, std::size_t num_launches) {
  std::vector<std::uint64_t> begins(num_launches + 1), ends(num_launches + 1), live(num_launches);
  for (const Lifetime& x : arena) {
    if (!x.used()) continue;
    begins[x.first] += x.bytes;
    ends[x.last + 1] += x.bytes;
  }
  std::uint64_t now = 0;
  for (std::size_t l = 0; l < num_launches; ++l) live[l] = now += begins[l] - ends[l];
  return live;
}

// The smallest gap that holds x between `placed`, which are sorted by offset; behind them all when there is none.
std::uint64_t best_fit(const Lifetime& x, const std::vector<const Lifetime*>& placed) {
  std::uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
  for (const Lifetime* p : placed) {
    if (p->offset >= end + x.bytes && p->offset - end < best_gap) {
      best_gap = p->offset - end;
      best = end;
    }
    end = std::max(end, p->offset + p->bytes);
  }
  return best != UINT64_MAX ? best : end;
}

// Buffers that are live when most bytes are come first.
void sort_by_breadth(std::vector<Lifetime*>& order, const std::vector<std::uint64_t>& live) {
  const std::size_t n = live.size();
  std::vector<std::uint64_t> most(2 * n);  // segment tree of maxima
  std::ranges::copy(live, most.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t i = n; i-- > 1;) most[i] = std::max(most[2 * i], most[2 * i + 1]);
  std::ranges::stable_sort(order, std::greater(), [&](const Lifetime* x) {
    std::uint64_t found = 0;
    for (std::size_t l = x->first + n, r = x->last + n + 1; x->used() && l < r; l /= 2, r /= 2) {
      if (l % 2) found = std::max(found, most[l++]);
      if (r % 2) found = std::max(found, most[--r]);
    }
    return found;
  });
}

// Buffers whose end is the arena's come first.
void raise_highest(std::vector<Lifetime*>& order) {
  std::uint64_t end = 0;
  for (const Lifetime* x : order) end = std::max(end, x->offset + x->bytes);
  std::ranges::stable_partition(order, [&](const Lifetime* x) { return x->offset + x->bytes == end; });
}

// Gives every buffer of `order` (in that order) the best place left; returns the arena's size.
std::uint64_t place(const std::vector<Lifetime*>& order, std::size_t num_launches) {
  Placed placed(num_launches);
  std::uint64_t end = 0;
  for (Lifetime* x : order) {
    x->offset = x->used() ? best_fit(*x, placed.overlapping(*x)) : 0;
    if (x->used()) placed.insert(x);
    end = std::max(end, x->offset + x->bytes);
  }
  return end;
}

// Places `arena` in the best of a few orders: by size, by breadth, then again and again with what ended highest placed
// first. The first order that reaches the lower bound is taken.
std::uint64_t place_all(std::vector<Lifetime>& arena, const std::vector<std::uint64_t>& live,
                        std::uint64_t lower_bound) {
  std::vector<Lifetime*> order;
  for (Lifetime& x : arena) order.push_back(&x);
  std::ranges::stable_sort(order, std::greater(), &Lifetime::bytes);
  std::vector<std::uint64_t> best(arena.size());
  std::uint64_t least = UINT64_MAX;
  for (int round = 0; round < kMaxRounds && least > lower_bound; ++round) {
    if (round == 1) sort_by_breadth(order, live);
    if (round > 1) raise_highest(order);
    const std::uint64_t end = place(order, live.size());
    if (end >= least) continue;
    least = end;
    std::ranges::transform(arena, best.begin(), &Lifetime::offset);
  }
  for (std::size_t i = 0; i < arena.size(); ++i) arena[i].offset = best[i];
  return least;
}

}  // namespace

MemoryPlan memory_plan(Schedule& schedule) {
  MemoryPlan plan;
  std::vector<Lifetime> arena;
  for (Lifetime& x : lifetimes_of(schedule)) {
    PlannedBuffer& buffer = schedule.buffers[x.buffers.front()];
    if (buffer.kind == ir::BufferKind::Persistent) {
      buffer.offset = plan.persistent_bytes;
      plan.persistent_bytes += x.bytes;
    } else if (buffer.kind == ir::BufferKind::Arena) {
      arena.push_back(std::move(x));
    }
  }
  if (arena.empty()) return plan;
  const std::vector<std::uint64_t> live = live_bytes(arena, schedule.launches.size());
  if (!live.empty()) plan.lower_bound_bytes = std::ranges::max(live);
  plan.arena_bytes = place_all(arena, live, plan.lower_bound_bytes);
  for (const Lifetime& x : arena) {
    for (std::uint32_t buffer : x.buffers) schedule.buffers[buffer].offset = x.offset;
  }
  return plan;
}

}  // namespace hearth::passes
