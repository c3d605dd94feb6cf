// choose_layouts: which axis of a stage is innermost in memory.
//
// A stage's loops are also the order of its elements. Where the axis that a convolution makes (its channels) is
// innermost, vectors run along channels whatever the stride, the padding and the size of a plane, and padding is a
// condition of a scalar instead of a mask. Where planes are large and channels few, the order of the graph is better.
// So the stages that hand channels on to each other are moved together if that lowers the estimated cycles of all
// kernels that read or make them (passes/ranged/layout_cost), what is gathered at the border included. What only copies
// (a pad in front of a convolution that makes few channels, whose vectors run along lines) stays where that is cheaper
// for it and its readers. Results keep the order that the graph gives them; one that is a short sum of what has moved
// is made in that order, too, and copied by a stage of its own.
//
// Source: the idea of channels-last and blocked layouts, as in Liu et al., "Optimizing CNN Model Inference on CPUs"
// (2019).
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// sink(stage...) -> the same values with axes of inner stages moved, and all that read them. `with_winograd`: of
// convolutions that passes/ranged/winograd makes faster the cost is that.
ir::UOpRef choose_layouts(ir::Graph& graph, ir::UOpRef sink, const target::Target& target, bool with_winograd = true);

}  // namespace hearth::passes
