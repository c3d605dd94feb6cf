#include "compiler/passes/ranged/merge_loads.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class Merger {
 public:
  Merger(ir::Graph& g, UOpRef sink) : g_(g), sink_(sink) {}

  absl::StatusOr<UOpRef> run() {
    return rebuild(g_, sink_, [&](UOpRef x, ir::Sources& sources) -> absl::StatusOr<UOpRef> {
      if (!x->is(Op::Where)) return nullptr;
      return merged(g_.with_sources(x, sources));
    });
  }

 private:
  // `choice`, or the one load that it is.
  absl::StatusOr<UOpRef> merged(UOpRef choice) {
    UOpRef condition = choice->source(0), a = choice->source(1), b = choice->source(2);
    if (!is_plain(a) || !is_plain(b) || a == b || has_load(condition)) return choice;
    UOpRef at = a->source(0), other = b->source(0);
    const std::size_t last = at->sources.size() - 2;  // the gate is behind it
    if (at->source(0) != other->source(0) || last < 2 || at->source(last) != other->source(last)) return choice;
    const std::vector<UOpRef> inner = free_ranges({at->source(last)});
    const auto is_inner = [&](UOpRef range) { return std::ranges::find(inner, range) != inner.end(); };
    if (std::ranges::any_of(free_ranges({condition}), is_inner)) return choice;
    std::vector<UOpRef> sources(at->sources.begin(), at->sources.end());
    for (std::size_t i = 1; i < sources.size(); ++i) {
      if (sources[i] == other->source(i)) continue;
      if (has_load(sources[i]) || has_load(other->source(i))) return choice;
      HEARTH_ASSIGN_OR_RETURN(sources[i], rules::simplify(g_, g_.where(condition, sources[i], other->source(i))));
    }
    return g_.with_sources(a, std::vector<UOpRef>{g_.with_sources(at, sources)});
  }

  static bool has_load(UOpRef root) {
    return std::ranges::any_of(nodes_below({&root, 1}), [](UOpRef x) { return x->is(Op::Load); });
  }

  // Zero where its gate is false.
  static bool is_plain(UOpRef x) { return x->is(Op::Load) && x->sources.size() == 1; }

  ir::Graph& g_;
  UOpRef sink_;
};

}  // namespace

absl::StatusOr<UOpRef> merge_loads(ir::Graph& graph, UOpRef sink) { return Merger(graph, sink).run(); }

}  // namespace hearth::passes
