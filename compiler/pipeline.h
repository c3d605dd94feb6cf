// The lists of steps of compiler/compile.cpp, for what stands around them (lower.cpp, candidate.cpp) and for tests.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/kernel/kernel_context.h"
#include "compiler/passes/kernel/schedule.h"
#include "compiler/passes/lowered/linearize.h"
#include "compiler/passes/report.h"

namespace hearth::compiler {

// What the lists share. References are the caller's.
struct Compilation {
  ir::Graph& g;
  const target::Target& target;
  const v1::CompileOptions& options;
  passes::PassLog& log;
};

// And those of one graph.
struct Lowering {
  const Compilation& compilation;
  const BlobLibraries& libraries;
  const passes::Tuning& tuning;
  std::vector<std::string> notes = {};  // of choices, for explain
};

// From tensors to kernels and their launches; the bodies of loops first, each a graph of its own. `is_body`: of a loop.
absl::StatusOr<passes::Schedule> schedule_of(ir::UOpRef root, passes::ImportedGraph& imported, Lowering& lowering,
                                             bool is_body = false);

// One kernel and the copies that it packs; nothing: it cannot be made in the memory that the task asks for.
absl::StatusOr<std::optional<passes::Kernel>> lower_to_kernel(const passes::KernelTask& task,
                                                              const passes::KernelContext& context,
                                                              passes::PassLog& log);

// From a kernel's AST to the body that code generators read.
absl::StatusOr<passes::LinearKernel> linear_kernel(const v1::KernelSpec& kernel, const Compilation& compilation);

}  // namespace hearth::compiler
