#include "compiler/passes/ranged/stage_facts.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "compiler/passes/ranged/contraction_reuse.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

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

}  // namespace hearth::passes
