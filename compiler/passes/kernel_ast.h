// kernel_ast: one stage -> the canonical AST of its kernel (see split_kernels.h), with the opts of the target applied.
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::passes {

struct KernelAst {
  ir::UOpRef root = nullptr;        // sink(store(...)), no symbol yet
  std::vector<ir::UOpRef> buffers;  // param slot -> the stage or Buffer it stands for; slot 0 is the stage itself
  std::vector<std::uint32_t> vars;  // kernel var slot -> graph var slot
  ir::UOpRef grid = nullptr;        // units of the Grid range over the graph's vars; 1 without one
  std::string name;                 // from kind and extents, e.g. "r_64_128"
  double num_ops = 0;               // at upper bounds
  std::uint32_t provenance = 0;
};

absl::StatusOr<KernelAst> build_kernel(ir::Graph& graph, ir::UOpRef stage, const v1::Target& target);

}  // namespace hearth::passes
