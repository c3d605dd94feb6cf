// The kernels of a lowered plan with the sizes of their buffers, read back from what the plan says: independent of what
// the compiler knew when it made them.
//
//   for (const PlanKernel& kernel : plan_kernels(lowered)) …
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::test {

struct PlanKernel {
  std::unique_ptr<ir::Graph> graph;
  std::string symbol;
  ir::UOpRef ast = nullptr;
  std::vector<ir::UOpRef> sizes;  // elements behind each slot, over the kernel's variables
};

// One for each launch: launches of one kernel may have buffers of different sizes.
std::vector<PlanKernel> plan_kernels(const v1::LoweredPlan& plan);
v1::LoweredPlan lowered(const v1::Graph& graph, std::uint32_t vector_bits);  // fails the test on an error

// The kernel as codegen gets it, but for the type of indices: expanded into vectors, loads guarded, simplified.
ir::UOpRef expanded(PlanKernel& kernel);

}  // namespace hearth::test
