// KernelContext: what every step of a kernel's lowering may ask. References are the caller's. Of one graph and thread.
#pragma once
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/passes/kernel/kernel.h"
#include "compiler/schedule/records.h"
#include "compiler/target/target.h"

namespace hearth::passes {

// What decides beside the scheduler, and what is told about it.
struct Tuning {
  const schedule::Records* records = nullptr;     // null: none
  std::set<Digest>* reads = nullptr;              // gets the flat kernels that records were looked up for
  bool describe = false;                          // fill in Kernel::choice and ::cost
  std::span<const std::int64_t> var_values = {};  // by slot, at which costs are counted; none: upper bounds
  std::vector<std::string>* warnings = nullptr;   // null: dropped
};

// Whether a stage or Buffer holds the same values at every replay: what is made of it is made once.
using IsInvariant = std::function<bool(ir::UOpRef)>;

struct KernelContext {
  ir::Graph& g;
  const target::Target& target;
  const Tuning& tuning;
  IsInvariant is_invariant;
};

// The list of a kernel's steps (compiler/compile.cpp). Nothing: a task `in_place` has to be made elsewhere.
using LowerKernel = std::function<absl::StatusOr<std::optional<Kernel>>(const KernelTask&, const KernelContext&)>;

}  // namespace hearth::passes
