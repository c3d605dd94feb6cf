#include "compiler/passes/ranged/stages.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

std::vector<UOpRef> nodes_below(std::span<const UOpRef> roots) {
  return toposort(roots, [](UOpRef x) { return !x->is(Op::Stage); });
}

std::vector<UOpRef> free_ranges(const std::vector<UOpRef>& roots) {
  std::vector<UOpRef> found = nodes_below(roots);
  std::erase_if(found, [](UOpRef x) { return !x->is(Op::Range); });
  return found;
}

double extent(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }
double extent(const std::vector<UOpRef>& ranges) {
  double n = 1;
  for (UOpRef r : ranges) n *= extent(r);
  return n;
}

std::vector<UOpRef> stages_in_order(UOpRef sink) {
  std::vector<UOpRef> stages;
  for (UOpRef x : toposort(sink)) {
    if (x->is(Op::Stage)) stages.push_back(x);
  }
  return stages;
}

ir::Shape axes_of(UOpRef buffer) {
  ir::Shape shape(buffer->sources.begin(), buffer->sources.end());
  if (!buffer->is(Op::Stage)) return shape;
  shape.erase(shape.begin());
  for (UOpRef& range : shape) range = range->source(0);
  return shape;
}

UOpRef replaced_below(ir::Graph& graph, UOpRef root, std::span<const std::pair<UOpRef, UOpRef>> map) {
  absl::flat_hash_map<UOpRef, UOpRef> done(map.begin(), map.end());
  std::vector<UOpRef> sources;
  for (UOpRef x : nodes_below({&root, 1})) {
    if (done.contains(x)) continue;
    sources.clear();
    for (UOpRef s : x->sources) {
      const auto found = done.find(s);
      sources.push_back(found == done.end() ? s : found->second);
    }
    ir::ProvenanceScope scope(graph, x->provenance);
    done[x] = std::ranges::equal(sources, x->sources) ? x : graph.with_sources(x, sources);
  }
  return done.at(root);
}

absl::StatusOr<UOpRef> simplified_below(ir::Graph& graph, UOpRef root) {
  std::vector<std::pair<UOpRef, UOpRef>> hide, show;
  absl::flat_hash_set<UOpRef> seen;
  for (UOpRef x : nodes_below({&root, 1})) {
    if (!x->is(Op::Index) || !x->source(0)->is(Op::Stage) || !seen.insert(x->source(0)).second) continue;
    UOpRef stage = x->source(0);
    const ir::BufferInfo buffer{ir::BufferKind::Arena, graph.fresh_id()};
    hide.emplace_back(stage, graph.make(Op::Buffer, stage->dtype, axes_of(stage), buffer));
    show.emplace_back(hide.back().second, stage);
  }
  HEARTH_ASSIGN_OR_RETURN(UOpRef simple, rules::simplify(graph, replaced_below(graph, root, hide)));
  return replaced_below(graph, simple, show);
}

absl::StatusOr<UOpRef> rewrite_stages(ir::Graph& graph, UOpRef sink,
                                      absl::FunctionRef<absl::StatusOr<UOpRef>(UOpRef, bool)> rewrite) {
  absl::flat_hash_map<UOpRef, UOpRef> made;
  std::vector<std::pair<UOpRef, UOpRef>> map;
  const auto over_made = [&](UOpRef root) {
    map.clear();
    for (UOpRef x : nodes_below({&root, 1})) {
      for (UOpRef s : x->sources) {
        if (const auto found = made.find(s); found != made.end()) map.push_back(*found);
      }
    }
    return map.empty() ? root : replaced_below(graph, root, map);
  };
  for (UOpRef stage : stages_in_order(sink)) {
    const bool is_output = std::ranges::find(sink->sources, stage) != sink->sources.end();
    HEARTH_ASSIGN_OR_RETURN(UOpRef rewritten, rewrite(over_made(stage), is_output));
    if (rewritten != stage) made[stage] = rewritten;
  }
  return over_made(sink);
}

std::vector<UOpRef> stage_body(UOpRef stage) { return nodes_below(stage->sources); }

}  // namespace hearth::passes
