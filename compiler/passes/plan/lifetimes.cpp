#include "compiler/passes/plan/lifetimes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace hearth::passes {
namespace {

using Span = std::pair<std::size_t, std::size_t>;  // of launches, first and last
constexpr Span kUnused = {SIZE_MAX, 0};

std::uint64_t aligned(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

void include(Span& span, Span other) {
  span.first = std::min(span.first, other.first);
  span.second = std::max(span.second, other.second);
}

std::vector<Span> spans_of_loops(const Schedule& schedule) {
  std::vector<Span> loops(schedule.loops.size(), kUnused);
  for (std::size_t l = 0; l < schedule.launches.size(); ++l) {
    if (const auto loop = schedule.launches[l].loop) include(loops[*loop], {l, l});
  }
  return loops;
}

// Launches of a level may run in any order.
Span with_levels(Span span, const std::vector<std::uint32_t>& levels) {
  if (levels.empty() || span == kUnused) return span;
  const auto begin = levels.begin();
  return {static_cast<std::size_t>(std::lower_bound(begin, levels.end(), levels[span.first]) - begin),
          static_cast<std::size_t>(std::upper_bound(begin, levels.end(), levels[span.second]) - begin) - 1};
}

std::vector<Span> spans_of_buffers(const Schedule& schedule) {
  std::vector<Span> spans(schedule.buffers.size(), kUnused);
  const std::vector<Span> loops = spans_of_loops(schedule);
  for (std::size_t l = 0; l < schedule.launches.size(); ++l) {
    const PlannedLaunch& launch = schedule.launches[l];
    for (const PlannedCondition& condition : launch.run_if) include(spans[condition.buffer], Span(l, l));
    for (std::uint32_t b : launch.buffers) {
      const bool outlives_step = launch.loop && schedule.buffers[b].loop != launch.loop;
      include(spans[b], outlives_step ? loops[*launch.loop] : Span(l, l));
    }
  }
  for (const PlannedBuffer& buffer : schedule.buffers) {
    if (!buffer.view) continue;
    include(spans[buffer.view->buffer], loops[buffer.view->loop]);
    if (buffer.view->kind == v1::LoopView::CARRIED) include(spans[buffer.view->other], loops[buffer.view->loop]);
  }
  for (Span& span : spans) span = with_levels(span, schedule.levels);
  return spans;
}

class Lifetimes {
 public:
  explicit Lifetimes(const Schedule& schedule)
      : schedule_(schedule), spans_(spans_of_buffers(schedule)), is_shared_(schedule.buffers.size()) {}

  std::vector<Lifetime> run() {
    for (const PlannedRegion& region : schedule_.regions) {
      share(region);
      for (const auto& [buffer, unit_bytes] : touched_by(region))
        spans_[buffer].second = std::max(spans_[buffer].second, end_of(region));
    }
    for (std::uint32_t b = 0; b < schedule_.buffers.size(); ++b) {
      if (schedule_.buffers[b].view || is_shared_[b]) continue;
      out_.push_back({{b}, aligned(schedule_.buffers[b].max_bytes), spans_[b].first, spans_[b].second, 0});
    }
    return std::move(out_);
  }

 private:
  static std::size_t end_of(const PlannedRegion& region) { return region.first_launch + region.num_launches - 1; }

  // Buffers, with what a unit keeps to of each.
  std::map<std::uint32_t, std::optional<std::uint64_t>> touched_by(const PlannedRegion& region) const {
    std::map<std::uint32_t, std::optional<std::uint64_t>> touched;
    for (std::size_t l = region.first_launch; l <= end_of(region); ++l) {
      const PlannedLaunch& launch = schedule_.launches[l];
      const std::vector<SlotAccess>& accesses = schedule_.kernels[launch.kernel].accesses;
      for (std::size_t slot = 0; slot < launch.buffers.size(); ++slot) {
        const std::uint32_t buffer = launch.buffers[slot];
        std::optional<std::uint64_t> bytes;
        if (const auto elements = accesses[slot].unit_elements)
          bytes = static_cast<std::uint64_t>(*elements) * byte_size(schedule_.buffers[buffer].dtype);
        const auto [found, is_first] = touched.emplace(buffer, bytes);
        if (found->second != bytes) found->second.reset();
      }
    }
    return touched;
  }

  // Values of the region that are used one after the other and divided alike get memory together.
  void share(const PlannedRegion& region) {
    std::map<std::uint64_t, std::vector<std::uint32_t>> values;  // by a unit's bytes
    for (const auto& [buffer, unit_bytes] : touched_by(region)) {
      const PlannedBuffer& planned = schedule_.buffers[buffer];
      const bool is_inside = spans_[buffer].first >= region.first_launch && spans_[buffer].second <= end_of(region);
      if (unit_bytes && is_inside && planned.kind == ir::BufferKind::Arena && !planned.view)
        values[*unit_bytes].push_back(buffer);
    }
    for (auto& [unit_bytes, alike] : values) {
      std::ranges::stable_sort(alike, {}, [this](std::uint32_t buffer) { return spans_[buffer].first; });
      std::vector<std::pair<std::size_t, Lifetime>> memory;  // with the last launch that uses it so far
      for (std::uint32_t buffer : alike) {
        const Span span = spans_[buffer];
        auto free = std::ranges::find_if(memory, [&](const auto& m) { return m.first < span.first; });
        if (free == memory.end()) free = memory.insert(free, {0, Lifetime{{}, 0, span.first, end_of(region), 0}});
        free->first = span.second;
        free->second.buffers.push_back(buffer);
        free->second.bytes = std::max(free->second.bytes, aligned(schedule_.buffers[buffer].max_bytes));
        is_shared_[buffer] = true;
      }
      for (auto& [last, lifetime] : memory) out_.push_back(std::move(lifetime));
    }
  }

  const Schedule& schedule_;
  std::vector<Span> spans_;
  std::vector<bool> is_shared_;
  std::vector<Lifetime> out_;
};

}  // namespace

std::vector<Lifetime> lifetimes_of(const Schedule& schedule) { return Lifetimes(schedule).run(); }

}  // namespace hearth::passes
