// Walks over a graph of stages (after rangeify: sink(stage...), stages reading stages).
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/shape.h"

namespace hearth::passes {

// Stages below `sink` in dependency order: each after those it reads.
std::vector<ir::UOpRef> stages_in_order(ir::UOpRef sink);

// Nodes of one stage's value, not entering the stages it reads; sources before users.
std::vector<ir::UOpRef> stage_body(ir::UOpRef stage);

// Ranges below `roots`, not entering stages.
std::vector<ir::UOpRef> free_ranges(const std::vector<ir::UOpRef>& roots);

// Most turns of a range's loop, at least one; of nested ranges' loops together.
double extent(ir::UOpRef range);
double extent(const std::vector<ir::UOpRef>& ranges);

// Nodes below `roots` without entering the stages they read; sources before users.
std::vector<ir::UOpRef> nodes_below(std::span<const ir::UOpRef> roots);

// Lengths of the axes along which index(buffer, i..., gate) runs; `buffer` is a buffer or a stage.
ir::Shape axes_of(ir::UOpRef buffer);

// `root` with the nodes of `map` replaced. Stages that it reads are replaced as a whole or left alone.
ir::UOpRef replaced_below(ir::Graph& graph, ir::UOpRef root, std::span<const std::pair<ir::UOpRef, ir::UOpRef>> map);

// rules::simplify without a change to the stages that `root` reads, and without a walk through them.
absl::StatusOr<ir::UOpRef> simplified_below(ir::Graph& graph, ir::UOpRef root);

// `sink` with each stage replaced by what `rewrite` makes of it: called for each after those it reads, with the stage
// as it reads what was made of them, and with whether it is an output.
absl::StatusOr<ir::UOpRef> rewrite_stages(
    ir::Graph& graph, ir::UOpRef sink,
    absl::FunctionRef<absl::StatusOr<ir::UOpRef>(ir::UOpRef stage, bool is_output)> rewrite);

}  // namespace hearth::passes
