#include "compiler/passes/ranged/stage_facts.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

// Elements that a statistic stands for, beside which its own bytes count little.
static constexpr double kMinRow = 8;

bool contains(std::span<const UOpRef> nodes, UOpRef node) { return std::ranges::find(nodes, node) != nodes.end(); }

StageFacts::StageFacts(UOpRef s) : stage(s), loops(s->sources.begin() + 1, s->sources.end()) {
  const std::vector<UOpRef> nodes = stage_body(stage);
  for (UOpRef x : nodes) {
    if (!x->is(Op::Reduce)) continue;
    reductions.push_back(x);
    for (std::size_t i = 1; i < x->sources.size(); ++i) {
      if (!contains(reduced, x->source(i))) reduced.push_back(x->source(i));
    }
  }
  absl::flat_hash_set<UOpRef> inside;
  for (UOpRef x : nodes_below(reductions)) inside.insert(x);
  for (UOpRef x : nodes) {
    if (!x->is(Op::Index)) continue;
    StageRead& read = reads.emplace_back();
    read.index = x;
    std::vector<UOpRef> at(x->sources.begin() + 1, x->sources.end() - 1);
    for (UOpRef i : at) read.position.push_back(ir::to_affine(i));
    read.ranges = free_ranges(at);
    read.gates = free_ranges({x->sources.back()});
    read.in_reduction = inside.contains(x);
  }
  contracts = has_contraction_with_reuse(nodes);
}

bool is_row_statistic(UOpRef stage) {
  const std::vector<UOpRef> own(stage->sources.begin() + 1, stage->sources.end());
  for (UOpRef reduce : stage_body(stage)) {
    if (!reduce->is(Op::Reduce)) continue;
    const std::vector<UOpRef> rounds(reduce->sources.begin() + 1, reduce->sources.end());
    if (extent(rounds) < kMinRow) continue;
    UOpRef operand = reduce->source(0);
    for (UOpRef load : nodes_below({&operand, 1})) {
      if (!load->is(Op::Load)) continue;
      const std::vector<UOpRef> along = free_ranges({load});
      const auto is_among = [&](UOpRef range) { return std::ranges::find(along, range) != along.end(); };
      if (std::ranges::all_of(own, is_among) && std::ranges::all_of(rounds, is_among)) return true;
    }
  }
  return false;
}

}  // namespace hearth::passes
