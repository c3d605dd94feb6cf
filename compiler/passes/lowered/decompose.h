// decompose: exp, log, sin, cos, tanh, erf, pow and sigmoid -> IR arithmetic that vectorises and calls nothing.
//
// f32 and f64 directly, narrower floats through f32; scalars and vectors alike. Bounds, asserted by the tests, in units
// in the last place (ulp), with or without fma:
//   f32  exp, log, sin, cos, pow 1; tanh, erf 2; sigmoid 3   (sin and cos for every argument)
//   f64  exp, log, pow 1; sin, cos, tanh, erf, sigmoid 3
// NaN, infinities, signed zeros, subnormals and overflow behave as in C's <math.h> (IEEE 754-2019 clause 9.2).
//
//   ir::UOpRef lowered = passes::decompose(graph, kernel, target);
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::passes {

ir::UOpRef decompose(ir::Graph& graph, ir::UOpRef root, const target::Target& target);

}  // namespace hearth::passes
