// InvariantStages: which buffers hold the same at every replay: parameters, constants, and stages that read only such
// and no variable, and are neither an output nor a loop.
#pragma once
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace hearth::passes {

class InvariantStages {
 public:
  InvariantStages() = default;
  // Looks at all stages below `sink`, whose sources are the outputs.
  explicit InvariantStages(ir::UOpRef sink);

  // After the stages that it reads.
  void add(ir::UOpRef stage, bool is_output);
  // `stage` holds what `known` does.
  void add_equal(ir::UOpRef stage, ir::UOpRef known) { is_invariant_[stage] = is_invariant_.at(known); }

  // `buffer`: one of the graph's, or a stage that was added.
  bool contains(ir::UOpRef buffer) const;

 private:
  std::unordered_map<ir::UOpRef, bool> is_invariant_;
};

}  // namespace hearth::passes
