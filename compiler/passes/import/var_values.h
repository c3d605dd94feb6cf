// var_values: the values of a graph's variables at which costs are counted, as CompileOptions has them.
#pragma once
#include "absl/status/status.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::passes {

// Whether there is none, or one for each variable of the graph and within its bounds. InvalidArgument naming the first
// that is not.
absl::Status check_var_values(const v1::Graph& graph, const v1::CompileOptions& options);

}  // namespace hearth::passes
