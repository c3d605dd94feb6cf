// matrix_tiles: products of f16 and bf16 by a GPU's matrix unit. The subgroups of a workgroup compute a block of
// results, each a few of the unit's matrices (ir/matrix_layout.h), whose operands come from copies in shared memory.
//
// Among the opts the first Unroll of an output axis is one of the unit's matrices, further ones make several of
// them a subgroup's, Workgroup makes them several subgroups'. Invocations of a subgroup are added here.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/opts.h"

namespace hearth::passes {

// A kernel of one store and one such product, after apply_opts, with the opt Matrix; any other kernel stays as it is.
absl::StatusOr<ir::UOpRef> matrix_tiles(ir::Graph& graph, ir::UOpRef kernel, const std::vector<schedule::Opt>& opts,
                                        const target::Target& target);

}  // namespace hearth::passes
