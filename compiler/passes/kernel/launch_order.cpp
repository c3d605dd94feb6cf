#include "compiler/passes/kernel/launch_order.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/passes/ranged/choices.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

std::vector<UOpRef> launch_order(ir::Graph& g, std::vector<UOpRef> stages,
                                 absl::FunctionRef<std::vector<UOpRef>(UOpRef stage)> runs_if) {
  std::unordered_map<UOpRef, std::vector<UOpRef>> decided_by;
  for (UOpRef stage : stages) {
    for (UOpRef condition : runs_if(stage)) {
      for (const auto& [decides, value] : taken_apart(g, condition).bools) decided_by[stage].push_back(decides);
    }
  }
  if (decided_by.empty()) return stages;
  const std::unordered_set<UOpRef> launched(stages.begin(), stages.end());
  std::unordered_set<UOpRef> seen;
  std::vector<UOpRef> ordered;
  const std::function<void(UOpRef)> visit = [&](UOpRef stage) {
    if (!stage->is(Op::Stage) || !seen.insert(stage).second) return;
    if (const auto found = decided_by.find(stage); found != decided_by.end())
      std::ranges::for_each(found->second, visit);
    for (UOpRef x : stage_body(stage)) std::ranges::for_each(x->sources, visit);
    if (launched.contains(stage)) ordered.push_back(stage);
  };
  std::ranges::for_each(stages, visit);
  return ordered;
}

}  // namespace hearth::passes
