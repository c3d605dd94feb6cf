#include "compiler/codegen/reference/linear_interpreter.h"

#include "base/status_macros.h"
#include "compiler/codegen/reference/linear_machine.h"

namespace hearth::codegen::reference {

absl::Status interpret_linear(std::span<const ir::UOpRef> body, const KernelRun& run) {
  KernelMemory memory(run);
  LinearMachine machine(body, {.grid = run.grid}, memory);
  HEARTH_RETURN_IF_ERROR(machine.prepare());
  for (;;) {  // one invocation waits for nobody
    HEARTH_ASSIGN_OR_RETURN(const std::optional<std::size_t> barrier, machine.run());
    if (!barrier) return absl::OkStatus();
  }
}

}  // namespace hearth::codegen::reference
