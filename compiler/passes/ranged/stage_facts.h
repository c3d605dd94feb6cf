// StageFacts: what decisions between kernels look at in a stage: its loops and how its value reads other stages and
// buffers.
#pragma once
#include <span>
#include <vector>

#include "compiler/ir/affine.h"
#include "compiler/ir/graph.h"

namespace hearth::passes {

struct StageRead {
  ir::UOpRef index = nullptr;        // index(stage or buffer, i..., gate)
  std::vector<ir::Affine> position;  // of each i
  std::vector<ir::UOpRef> ranges;    // that the position depends on
  std::vector<ir::UOpRef> gates;     // ranges that the gate depends on
  bool in_reduction = false;         // executed once an element of a reduction

  ir::UOpRef from() const { return index->source(0); }
};

struct StageFacts {
  explicit StageFacts(ir::UOpRef stage);

  ir::UOpRef stage;
  std::vector<ir::UOpRef> loops;  // the stage's ranges, outermost first
  std::vector<ir::UOpRef> reductions;
  std::vector<ir::UOpRef> reduced;  // ranges of the reductions
  std::vector<StageRead> reads;
  bool contracts = false;  // one of the reductions is a contraction with reuse
};

// Whether the stage is a statistic of rows: a reduction whose operand has an element for each of its results and each of
// its rounds. (An operand of a product of matrices has not.)
bool is_row_statistic(ir::UOpRef stage);

bool contains(std::span<const ir::UOpRef> nodes, ir::UOpRef node);

}  // namespace hearth::passes
