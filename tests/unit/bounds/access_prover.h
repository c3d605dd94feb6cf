// Z3's opinion on one access, from the kernel's own text: whether some values of the variables, the loops and the
// loaded data satisfy the gate and leave the buffer. Knows nothing of the compiler's bounds but what an integer type
// holds.
//
//   AccessProver prover;
//   for (const KernelAccess& access : accesses(root)) prover.check(access, size)     // Verdict::Inside
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace hearth::test {

struct KernelAccess {
  ir::UOpRef index = nullptr;
  std::uint16_t lanes = 1;        // elements in a row, or one a lane of the position
  std::vector<ir::UOpRef> loops;  // of a store: those around it; a load's are what its index and gate depend on
};
// Every load and store of a kernel, whose loads must have been guarded (passes/lowered/guard_loads).
std::vector<KernelAccess> accesses(ir::UOpRef kernel);

enum class Verdict { Inside, Outside, Unknown };

class AccessProver {
 public:
  AccessProver();
  ~AccessProver();
  Verdict check(const KernelAccess& access, ir::UOpRef size);
  std::string model() const { return model_; }  // of the last Outside

 private:
  struct Context;  // Z3's, expensive to make
  std::unique_ptr<Context> context_;
  std::string model_;
};

}  // namespace hearth::test
