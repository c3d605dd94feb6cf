#include "compiler/passes/ranged/compute_at.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/invariant_stages.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/schedule/kernel_facts.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMinRows = 8;  // of a block: each value read serves as many multiply-adds
constexpr double kMaxReread = 256;    // in rows: four times what 16 stored rows are in four passes over them

class ComputeAt {
 public:
  ComputeAt(ir::Graph& g, UOpRef sink, const target::Target& target)
      : g_(g),
        sink_(sink),
        stages_(stages_in_order(sink)),
        invariant_(sink),
        l2_bytes_(static_cast<double>(target.l2_bytes())),
        allocation_bytes_(static_cast<double>(target.allocation_bytes())) {}

  UOpRef run() {
    for (UOpRef stage : stages_) {
      Facts& facts = facts_[stage];
      facts.nodes = stage_body(stage);
      for (UOpRef x : facts.nodes) {
        facts.reduces |= x->is(Op::Reduce);
        facts.transcendental |= ir::is_transcendental(x->op);
        if (!x->is(Op::Index)) continue;
        if (UOpRef from = x->source(0); from->is(Op::Stage)) facts_.at(from).uses.push_back({x, stage});
      }
    }
    for (UOpRef output : sink_->sources) facts_.at(output).is_output = true;
    for (UOpRef stage : stages_) {
      if (serves(stage)) keep(stage);
    }
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      if (!kept_.contains(*stage) && joins(*stage)) keep(*stage);
    }
    return marked();
  }

 private:
  using Loops = std::unordered_set<UOpRef>;
  struct Use {
    UOpRef index;   // index(stage, i..., gate)
    UOpRef reader;  // the stage whose value holds it
  };
  struct Facts {
    std::vector<UOpRef> nodes;
    std::vector<Use> uses;
    std::vector<UOpRef> kept;  // stages kept in this one's kernel that it reads itself
    bool reduces = false, transcendental = false, is_output = false;
  };

  void keep(UOpRef stage) {
    facts_.at(facts_.at(stage).uses.front().reader).kept.push_back(stage);
    kept_.insert(stage);
  }

  // Nobody but one reader wants it.
  bool is_inner(const Facts& facts, UOpRef stage) const {
    const auto& info = stage->as<ir::StageInfo>();
    if (facts.is_output || facts.uses.empty() || invariant_.contains(stage) || info.forced || info.choice) return false;
    UOpRef reader = facts.uses.front().reader;
    return std::ranges::all_of(facts.uses, [&](const Use& u) { return u.reader == reader; });
  }

  bool serves(UOpRef stage) {
    const Facts& facts = facts_.at(stage);
    if (!is_inner(facts, stage)) return false;
    UOpRef reader = facts.uses.front().reader;
    if (!facts.reduces && facts.kept.empty()) return false;
    double bytes = byte_size(stage->dtype);
    for (std::size_t i = 1; i < stage->sources.size(); ++i) bytes *= extent(stage->source(i));
    // A small stage stays in the cache by itself; one that is read several times (scores by a softmax) or keeps others
    // saves a kernel at least.
    const bool is_row_work = facts.uses.size() > 1 || !facts.kept.empty();
    if (bytes < l2_bytes_ / (is_row_work ? 32 : 2)) return false;
    if (!is_row_work && is_addend_of_contraction(facts, reader)) return false;
    const std::optional<std::vector<UOpRef>> shared = loops_of(stage);
    if (!shared) return false;
    // All stages of one kernel are kept in the same loops.
    const Loops loops(shared->begin(), shared->end()), own(stage->sources.begin() + 1, stage->sources.end() - 1);
    auto differ = [&](UOpRef other, const Loops& from) {
      const auto others = loops_of(other);
      return Loops(others->begin(), others->end()) != from;
    };
    if (std::ranges::any_of(facts.kept, [&](UOpRef inner) { return differ(inner, own); })) return false;
    if (std::ranges::any_of(facts_.at(reader).kept, [&](UOpRef other) { return differ(other, loops); })) return false;
    return reading_pays(stage, bytes, reread_bytes(reader, loops) + reread_bytes_below(stage)) &&
           rows_fit(row_bytes(stage) + rows_kept_in(reader), stage);
  }

  // A contraction whose results another one's are added to: side by side in one kernel neither gets its tile.
  bool is_addend_of_contraction(const Facts& facts, UOpRef reader) {
    const UOpRef index = facts.uses.front().index;
    const std::vector<UOpRef> at = free_ranges({index->sources.begin() + 1, index->sources.end() - 1});
    const bool is_outside_of_sums = std::ranges::all_of(at, [&](UOpRef range) {
      return std::find(reader->sources.begin() + 1, reader->sources.end(), range) != reader->sources.end();
    });
    return is_outside_of_sums && has_contraction_with_reuse(facts.nodes) &&
           has_contraction_with_reuse(facts_.at(reader).nodes);
  }

  // What every block of rows reads again stays in L2; or it is little beside what the block would write and read if the
  // stage were stored, in memory beyond the caches.
  bool reading_pays(UOpRef stage, double bytes, double reread) {
    if (reread <= l2_bytes_ * 3 / 4) return true;
    const double row = extent(stage->sources.back()) * byte_size(stage->dtype);
    return bytes > kCore.far_in_l2s * l2_bytes_ && reread <= kMaxReread * row;
  }

  // A block of rows on the stack. Rows of one length are mostly computed in place (passes/kernel/share_allocations); if
  // they are not, a block is as many rows as fit, one at least.
  bool rows_fit(double row_bytes, UOpRef longest) {
    const double in_place = extent(longest->sources.back()) * byte_size(longest->dtype);
    return row_bytes <= allocation_bytes_ && kMinRows * in_place <= allocation_bytes_;
  }

  // An elementwise stage whose rows a kernel of kept rows reads (queries, rotated by their positions): it lives there
  // too, whatever its size.
  bool joins(UOpRef stage) {
    const Facts& facts = facts_.at(stage);
    if (!is_inner(facts, stage) || facts.reduces || !facts.kept.empty()) return false;
    UOpRef reader = facts.uses.front().reader;
    const std::optional<std::vector<UOpRef>> shared = loops_of(stage);
    if (!shared) return false;
    Loops wanted;
    if (kept_.contains(reader)) {
      wanted.insert(reader->sources.begin() + 1, reader->sources.end() - 1);
    } else {
      if (facts_.at(reader).kept.empty()) return false;
      const auto loops = loops_of(facts_.at(reader).kept.front());
      wanted.insert(loops->begin(), loops->end());
    }
    if (Loops(shared->begin(), shared->end()) != wanted) return false;
    UOpRef root = reader;
    UOpRef longest = stage;
    for (UOpRef inner : facts_.at(root).kept) {
      if (extent(inner->sources.back()) > extent(longest->sources.back())) longest = inner;
    }
    return rows_fit(row_bytes(stage) + rows_kept_in(root), longest);
  }

  // Operands of everything in the stage's kernel that its innermost common loop leaves where they are.
  double reread_bytes_below(UOpRef stage) {
    const Loops loops(stage->sources.begin() + 1, stage->sources.end() - 1);
    double bytes = reread_bytes(stage, loops);
    for (UOpRef inner : facts_.at(stage).kept) bytes += reread_bytes_below(inner);
    return bytes;
  }

  // Bytes that `stage`'s own loads read again for each value of `loops`, since they do not move with all of them.
  double reread_bytes(UOpRef stage, const Loops& loops) {
    double bytes = 0;
    for (UOpRef x : facts_.at(stage).nodes) {
      if (!x->is(Op::Index) || kept_.contains(x->source(0))) continue;
      double elements = 1;
      std::size_t moves_with = 0;
      for (UOpRef range : free_ranges({x->sources.begin() + 1, x->sources.end()})) {
        if (loops.contains(range)) {
          ++moves_with;
        } else {
          elements *= extent(range);
        }
      }
      if (moves_with < loops.size()) bytes += elements * byte_size(x->source(0)->dtype);
    }
    return bytes;
  }

  // A row of the stage, and one more that passes/kernel/materialize_row_values may make of it; with those it keeps
  // itself.
  double row_bytes(UOpRef stage) {
    const Facts& facts = facts_.at(stage);
    double bytes = extent(stage->sources.back()) * byte_size(stage->dtype);
    if (facts.transcendental && (facts.reduces || !facts.kept.empty())) bytes *= 2;
    return bytes + rows_kept_in(stage);
  }
  double rows_kept_in(UOpRef stage) {
    double bytes = 0;
    for (UOpRef inner : facts_.at(stage).kept) bytes += row_bytes(inner);
    return bytes;
  }

  UOpRef marked() {
    if (kept_.empty()) return sink_;
    return rebuild(g_, sink_, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
      if (!kept_.contains(x)) return nullptr;
      ir::StageInfo info = x->as<ir::StageInfo>();
      info.kept = true;
      return g_.make(Op::Stage, x->dtype, sources, info);
    });
  }

  std::optional<std::vector<UOpRef>> loops_of(UOpRef stage) {
    std::vector<UOpRef> indices;
    for (const Use& use : facts_.at(stage).uses) indices.push_back(use.index);
    return shared_loops(stage, facts_.at(stage).uses.front().reader, indices);
  }

  ir::Graph& g_;
  UOpRef sink_;
  std::vector<UOpRef> stages_;
  const InvariantStages invariant_;
  double l2_bytes_;
  double allocation_bytes_;
  std::unordered_map<UOpRef, Facts> facts_;
  std::unordered_set<UOpRef> kept_;
};

}  // namespace

std::optional<std::vector<UOpRef>> shared_loops(UOpRef stage, UOpRef reader, std::span<const UOpRef> indices) {
  const std::size_t num_axes = stage->sources.size() - 1;
  if (num_axes < 2) return std::nullopt;
  std::vector<UOpRef> loops;
  for (UOpRef index : indices) {
    std::vector<UOpRef> at(index->sources.begin() + 1, index->sources.end() - 1);
    for (std::size_t i = 0; i < num_axes; ++i) {
      if (!at[i]->is(Op::Range) || at[i]->source(0) != stage->source(1 + i)->source(0)) return std::nullopt;
    }
    UOpRef row = at.back();
    at.pop_back();
    for (auto loop = at.begin(); loop != at.end(); ++loop) {
      const bool of_reader =
          std::find(reader->sources.begin() + 1, reader->sources.end(), *loop) != reader->sources.end();
      if (!of_reader || *loop == row || std::find(at.begin(), loop, *loop) != loop) return std::nullopt;
    }
    if (loops.empty()) loops = at;
    if (loops != at) return std::nullopt;
  }
  return loops;
}

UOpRef compute_at(ir::Graph& graph, UOpRef sink, const target::Target& target) {
  return ComputeAt(graph, sink, target).run();
}

}  // namespace hearth::passes
