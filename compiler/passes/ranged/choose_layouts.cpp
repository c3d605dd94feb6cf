#include "compiler/passes/ranged/choose_layouts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/ranged/convolution.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/layout_cost.h"
#include "compiler/passes/ranged/stage_facts.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/ranged/winograd_cost.h"
#include "compiler/passes/ranged/winograd_transform.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMinLanes = 4;
constexpr double kWorthMoving = 0.98;  // of the cycles as they are

// The one range that a position is, but for a distance; null when it is anything else.
UOpRef single_range(const ir::Affine& at) {
  const bool is_one = at.terms.size() == 1 && at.terms[0].coefficient == 1 && at.terms[0].atom->is(Op::Range);
  return is_one ? at.terms[0].atom : nullptr;
}

class Chooser {
 public:
  Chooser(ir::Graph& g, UOpRef sink, const target::Target& target, bool with_winograd)
      : g_(g), sink_(sink), target_(target), with_winograd_(with_winograd), invariant_(sink) {
    for (UOpRef stage : stages_in_order(sink)) {
      number_[stage] = stages_.size();
      stages_.emplace_back(stage);
    }
    readers_.resize(stages_.size());
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      for (const StageRead& read : stages_[i].facts.reads) {
        if (const auto from = number_.find(read.from()); from != number_.end()) readers_[from->second].insert(i);
      }
    }
  }

  UOpRef run() {
    look_at_stages();
    for (Stage& stage : stages_) seed(stage);
    for (std::size_t changes = 1; changes != 0;) {
      changes = 0;
      for (Stage& stage : stages_) changes += hand_on(stage);
      for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) changes += hand_on(*stage);
    }
    bool moves = false;
    for (const auto& [root, region] : regions()) {
      set_moved(region, false);
      const double as_it_is = cycles(region);
      set_moved(region, true);
      leave_copies(region);
      const bool pays = cycles(region) < kWorthMoving * as_it_is;
      if (!pays) set_moved(region, false);
      moves |= pays;
    }
    if (!moves) return sink_;
    for (UOpRef output : sink_->sources) copy_out(*stage_of(output));
    return rebuilt();
  }

 private:
  struct Stage {
    explicit Stage(UOpRef stage) : facts(stage) {}

    StageFacts facts;
    bool pinned = false;                  // in the order that the graph gives it
    bool conflicts = false;               // two axes were to be the channels
    std::optional<std::size_t> channels;  // the axis that moves, if one does
    bool moved = false;
    bool copied_out = false;  // an output that moved: the graph's order is a copy's
    std::vector<std::size_t> padded;
    double winograd_cycles = INFINITY;  // of its convolution where channels are innermost in what it reads and makes
  };

  Stage* stage_of(UOpRef buffer) {
    const auto found = number_.find(buffer);
    return found == number_.end() ? nullptr : &stages_[found->second];
  }

  bool may_move(const Stage& stage) const {
    const bool moves = stage.channels && *stage.channels + 1 < stage.facts.loops.size();
    return moves && !stage.pinned && !stage.conflicts && !is_invariant(stage.facts.stage);
  }
  bool is_invariant(UOpRef buffer) const { return invariant_.contains(buffer); }

  void look_at_stages() {
    for (Stage& stage : stages_) {
      const bool opaque = is_opaque(stage.facts.stage->source(0));
      stage.pinned = opaque;
      for (const StageRead& read : stage.facts.reads) {
        Stage* from = stage_of(read.from());
        if (from != nullptr && opaque) from->pinned = true;
        if (!stage.facts.reductions.empty() || read.gates.empty()) continue;
        for (std::size_t i = 0; i < stage.facts.loops.size(); ++i) {
          if (contains(read.gates, stage.facts.loops[i])) stage.padded.push_back(i);
        }
      }
      if (!with_winograd_) continue;
      const auto once = [this](UOpRef buffer) { return is_invariant(buffer); };
      if (const auto found = find_convolution(g_, stage.facts, kWinogradTaps, once))
        stage.winograd_cycles = winograd_cycles(*found, target_);
    }
    for (UOpRef output : sink_->sources) stage_of(output)->pinned = true;
  }

  // Whether this is news.
  bool set_channels(Stage& stage, std::size_t axis) {
    if (stage.conflicts || stage.channels == axis) return false;
    stage.conflicts = stage.channels.has_value();
    if (!stage.conflicts) stage.channels = axis;
    return true;
  }

  static std::optional<std::size_t> axis_of(const StageFacts& facts, UOpRef range) {
    const auto found = std::ranges::find(facts.loops, range);
    if (found == facts.loops.end()) return std::nullopt;
    return static_cast<std::size_t>(found - facts.loops.begin());
  }

  // A convolution's channels: the loop that moves its weights alone, and what it sums with them of the image.
  void seed(Stage& stage) {
    const StageFacts& facts = stage.facts;
    if (!facts.contracts || facts.reductions.size() != 1) return;
    const StageRead *weights = nullptr, *image = nullptr;
    for (const StageRead& read : facts.reads) {
      if (!read.in_reduction) continue;
      const StageRead*& place = is_invariant(read.from()) ? weights : image;
      if (place != nullptr) return;
      place = &read;
    }
    if (weights == nullptr || image == nullptr) return;
    UOpRef made = nullptr;
    for (UOpRef loop : facts.loops) {
      if (!contains(weights->ranges, loop)) continue;
      if (made != nullptr || contains(image->ranges, loop)) return;  // grouped
      made = loop;
    }
    if (made == nullptr) return;
    set_channels(stage, *axis_of(facts, made));
    Stage* from = stage_of(image->from());
    if (from == nullptr) return;
    for (std::size_t i = 0; i < image->position.size(); ++i) {
      UOpRef range = single_range(image->position[i]);
      if (range != nullptr && contains(facts.reduced, range) && contains(weights->ranges, range)) {
        set_channels(*from, i);
        return;
      }
    }
  }

  // Channels of what is read are the channels of what is made of them, and the other way round. How often this was
  // news.
  std::size_t hand_on(Stage& stage) {
    std::size_t news = 0;
    for (const StageRead& read : stage.facts.reads) {
      Stage* from = stage_of(read.from());
      if (from == nullptr || is_invariant(read.from()) || from->conflicts || stage.conflicts) continue;
      if (from->channels) {
        UOpRef range = single_range(read.position[*from->channels]);
        const auto axis = range == nullptr ? std::nullopt : axis_of(stage.facts, range);
        if (axis) news += set_channels(stage, *axis);
      }
      if (!stage.channels || stage.conflicts) continue;
      for (std::size_t i = 0; i < read.position.size(); ++i) {
        if (single_range(read.position[i]) == stage.facts.loops[*stage.channels]) news += set_channels(*from, i);
      }
    }
    return news;
  }

  std::size_t root_of(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  // Stages that move together: those that read each other.
  std::map<std::size_t, std::vector<std::size_t>> regions() {
    parent_.resize(stages_.size());
    for (std::size_t i = 0; i < stages_.size(); ++i) parent_[i] = i;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (!may_move(stages_[i])) continue;
      for (const StageRead& read : stages_[i].facts.reads) {
        const Stage* from = stage_of(read.from());
        if (from != nullptr && may_move(*from)) parent_[root_of(i)] = root_of(number_.at(read.from()));
      }
    }
    std::map<std::size_t, std::vector<std::size_t>> regions;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (may_move(stages_[i])) regions[root_of(i)].push_back(i);
    }
    return regions;
  }

  // It and all that changes of what it reads have their channels innermost.
  bool is_moved_whole(const Stage& stage) {
    return stage.moved && std::ranges::all_of(stage.facts.reads, [&](const StageRead& read) {
             const Stage* from = stage_of(read.from());
             return is_invariant(read.from()) || (from != nullptr && from->moved);
           });
  }

  void set_moved(const std::vector<std::size_t>& region, bool moved) {
    for (std::size_t i : region) stages_[i].moved = moved;
  }

  // Cycles of all kernels that make or read a stage of the region, with the layouts chosen so far.
  double cycles(const std::vector<std::size_t>& region) {
    std::set<std::size_t> concerned(region.begin(), region.end());
    for (std::size_t i : region) concerned.insert(readers_[i].begin(), readers_[i].end());
    double all = 0;
    for (std::size_t i : concerned) all += cycles(stages_[i]);
    return all;
  }

  // What is made of sums by itself is stored with them.
  bool reads_sum(const Stage& stage) {
    return std::ranges::any_of(stage.facts.reads, [&](const StageRead& read) {
      const Stage* from = stage_of(read.from());
      return from != nullptr && !from->facts.reductions.empty();
    });
  }

  // A padded copy in front of a convolution of few channels stays in planes, whose rows are vectors, though all around
  // it has moved: from the last to the first, what only copies stays where that is cheaper for it and its readers.
  void leave_copies(const std::vector<std::size_t>& region) {
    for (auto i = region.rbegin(); i != region.rend(); ++i) {
      Stage& stage = stages_[*i];
      if (!stage.facts.reductions.empty() || reads_sum(stage)) continue;
      const auto all = [&] {
        double sum = cycles(stage);
        for (std::size_t reader : readers_[*i]) sum += cycles(stages_[reader]);
        return sum;
      };
      const double as_moved = all();
      stage.moved = false;
      stage.moved = all() >= kWorthMoving * as_moved;
    }
  }

  // By a loop or a blob, which know it by its place in memory.
  bool is_read_in_place(const Stage& stage) {
    const auto& readers = readers_[number_.at(stage.facts.stage)];
    return std::ranges::any_of(readers, [&](std::size_t i) { return is_opaque(stages_[i].facts.stage->source(0)); });
  }

  // An output made of what has moved may be made in its order, too, and copied, rather than be stored to many places.
  void copy_out(Stage& stage) {
    if (!stage.channels || stage.conflicts || is_invariant(stage.facts.stage)) return;
    if (stage.facts.reductions.empty() || stage.facts.contracts) return;
    if (*stage.channels + 1 >= stage.facts.loops.size() || stage.moved || is_read_in_place(stage)) return;
    const double stored = cycles(stage);
    stage.moved = true;
    stage.copied_out = cycles(stage) + kCore.square_copy_cycles * extent(stage.facts.loops) < kWorthMoving * stored;
    stage.moved = stage.copied_out;
  }

  double cycles(const Stage& stage) {
    const auto innermost = [this](UOpRef buffer) -> std::size_t {
      const Stage* stage = stage_of(buffer);
      if (stage != nullptr && stage->moved) return *stage->channels;
      return buffer->sources.size() - (stage != nullptr ? 2 : 1);  // a stage's first source is its value
    };
    const auto once = [this](UOpRef buffer) { return is_invariant(buffer); };
    const auto padded = [this](UOpRef buffer) {
      const Stage* stage = stage_of(buffer);
      return stage != nullptr ? stage->padded : std::vector<std::size_t>();
    };
    const double direct = layout_cycles(stage.facts, {innermost, once, padded}, target_);
    return is_moved_whole(stage) ? std::min(direct, stage.winograd_cycles) : direct;
  }

  // The range that is innermost in what a reduction reads becomes its innermost loop, so that conditions on the others
  // are decided outside of it.
  std::vector<UOpRef> reduce_order(UOpRef reduce, const std::vector<UOpRef>& sources) {
    UOpRef last = nullptr;
    const UOpRef inside[] = {reduce->source(0)};
    for (UOpRef x : nodes_below(inside)) {
      const Stage* from = x->is(Op::Index) ? stage_of(x->source(0)) : nullptr;
      if (from == nullptr || !from->moved) continue;
      last = single_range(ir::to_affine(x->source(1 + *from->channels)));
    }
    std::vector<UOpRef> order = sources;
    for (std::size_t i = 1; i < reduce->sources.size(); ++i) {
      if (reduce->source(i) != last) continue;
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  order.end());
    }
    return order;
  }

  UOpRef rebuilt() {
    return rebuild(g_, sink_, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
      const Stage* moved = x->is(Op::Stage) ? stage_of(x) : x->is(Op::Index) ? stage_of(x->source(0)) : nullptr;
      if (moved != nullptr && moved->moved) {
        const auto at = sources.begin() + 1 + static_cast<std::ptrdiff_t>(*moved->channels);
        std::rotate(at, at + 1, sources.end() - (x->is(Op::Index) ? 1 : 0));
      } else if (x->is(Op::Reduce)) {
        sources = reduce_order(x, sources);
      }
      if (x == sink_) {
        for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = copy_of(*stage_of(x->source(i)), sources[i]);
      }
      return nullptr;
    });
  }

  // What an output is: `made`, or a copy of it in the graph's order.
  UOpRef copy_of(const Stage& stage, UOpRef made) {
    if (!stage.copied_out) return made;
    ir::ProvenanceScope scope(g_, made->provenance);
    std::vector<UOpRef> loops = {nullptr}, at = {made};
    for (UOpRef loop : stage.facts.loops)
      loops.push_back(g_.range(loop->source(0), g_.fresh_id(), ir::RangeKind::Loop));
    at.insert(at.end(), loops.begin() + 1, loops.end());
    const auto channels = at.begin() + 1 + static_cast<std::ptrdiff_t>(*stage.channels);
    std::rotate(channels, channels + 1, at.end());
    at.push_back(g_.boolean(true));
    loops[0] = g_.make(Op::Load, made->dtype, {g_.make(Op::Index, ir::Scalar::Void, at)});
    return g_.make(Op::Stage, made->dtype, loops, ir::StageInfo{g_.fresh_id(), /*forced=*/true});
  }

  ir::Graph& g_;
  UOpRef sink_;
  const target::Target& target_;
  const bool with_winograd_;
  const InvariantStages invariant_;
  std::vector<Stage> stages_;  // each after those it reads
  std::unordered_map<UOpRef, std::size_t> number_;
  std::vector<std::set<std::size_t>> readers_;
  std::vector<std::size_t> parent_;
};

}  // namespace

UOpRef choose_layouts(ir::Graph& graph, UOpRef sink, const target::Target& target, bool with_winograd) {
  if (target.lanes(4) < kMinLanes) return sink;
  return Chooser(graph, sink, target, with_winograd).run();
}

}  // namespace hearth::passes
