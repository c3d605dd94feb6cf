// Opts: loop transformations of one kernel, decided by a heuristic (or later a search) and applied by
// passes/apply_opts. They become part of the kernel's canonical AST, hence of its key.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::tune {

struct Opt {
  enum class Kind {
    Block,   // output axis n -> ceil(n/amount) blocks (new outer axis) of at most `amount`
    Lanes,   // axis -> vectors of `amount` lanes, the remainder as a scalar loop
    Unroll,  // axis -> `amount` copies in a row, the remainder as a loop
  };
  Kind kind;
  std::uint32_t axis;  // RangeInfo.axis
  std::int64_t amount;
};

std::string to_string(const Opt& opt);

// Plain choices for CPUs: vectors along the axis that loads and stores run along, a register tile of independent
// accumulators for reductions, blocks so that one-dimensional work can be divided between threads.
std::vector<Opt> heuristic_cpu(ir::UOpRef kernel, const v1::Target& target, double num_ops);

}  // namespace hearth::tune
