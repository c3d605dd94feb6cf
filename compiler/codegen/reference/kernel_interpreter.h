// Interpreter of kernel ASTs: a Sink of Stores over ranges, at any stage from split to linearize. The oracle of every
// lowering pass: interpret before and after, compare the buffers.
//
// Ranges of every kind run as loops; both arms of `where` are computed, so a load must carry its own gate. A Stage
// inside a kernel is recomputed where it is read. Float reductions accumulate in double and round once.
// Errors: an access outside its buffer, a range used outside its loop, index overflow, an op that has no place here.
// Not thread-safe.
//
//   std::vector<HostTensor> buffers = {HostTensor(Scalar::F32, {16}), input};
//   absl::Status status = interpret_kernel(sink, {buffers, vars});
#pragma once
#include "absl/status/status.h"
#include "compiler/codegen/reference/kernel_memory.h"
#include "compiler/ir/graph.h"

namespace hearth::codegen::reference {

absl::Status interpret_kernel(ir::UOpRef sink, const KernelRun& run);

}  // namespace hearth::codegen::reference
