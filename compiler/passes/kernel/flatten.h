// flatten: a stage, with those that are kept in its kernel -> sink(store(index(param | allocation, position, gate),
// value, ranges...)...), positions flat.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/passes/kernel/kernel.h"

namespace hearth::passes {

// Fills `out`'s buffers, provenance and, where loops of kept stages are the kernel's own, rows.
ir::UOpRef flatten(ir::Graph& graph, ir::UOpRef stage, Kernel& out);

// The same in parts. Slots are in order of first appearance; 0 is the stage itself.
class StageFlattener {
 public:
  StageFlattener(ir::Graph& g, ir::UOpRef stage, Kernel& out) : g_(g), root_(stage), out_(out) {}

  ir::UOpRef run();

  // The stage's value with `at` in place of its ranges.
  ir::UOpRef value_at(const std::vector<ir::UOpRef>& at);

  // Loops that the kept stages share with the kernel's own.
  const std::vector<ir::UOpRef>& shared() const { return shared_; }

 private:
  void add_store(ir::UOpRef target, ir::UOpRef value, const std::vector<ir::UOpRef>& ranges);
  ir::UOpRef slot_of(ir::UOpRef buffer);
  ir::UOpRef allocation_of(ir::UOpRef kept, ir::UOpRef reader, const std::unordered_map<ir::UOpRef, ir::UOpRef>& done);
  ir::UOpRef value_of(ir::UOpRef stage, std::unordered_map<ir::UOpRef, ir::UOpRef>& done);

  ir::Graph& g_;
  ir::UOpRef root_;
  Kernel& out_;
  std::vector<ir::UOpRef> stores_, shared_;
  std::unordered_map<ir::UOpRef, ir::UOpRef> allocations_;
};

}  // namespace hearth::passes
