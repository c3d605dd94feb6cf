// launch_work: what a launch does as an expression over the graph's variables, where that depends on them: so that a
// replay counts, and forks, by the values it has.
//
//   LaunchWork work = launch_work(g, flat);      // work.num_ops is null where every replay does the same
#pragma once
#include "compiler/ir/graph.h"

namespace hearth::passes {

struct LaunchWork {
  ir::UOpRef num_ops = nullptr;  // arithmetic, as Kernel::num_ops counts it; null: that number, whatever the values
  ir::UOpRef work = nullptr;     // likewise as Kernel::work
};

// `flat`: before opts, sink(store(index(param | allocation, position, gate), value, ranges...)...).
LaunchWork launch_work(ir::Graph& graph, ir::UOpRef flat);

// Units that are worth a thread where `work` is done in `units` of them and a thread is worth `fork_work`; null where
// that does not depend on variables.
ir::UOpRef units_worth_a_thread(ir::Graph& graph, ir::UOpRef work, ir::UOpRef units, std::int64_t fork_work);

}  // namespace hearth::passes
