// KernelMemo: kernels of stages, each distinct one made once. A net has many stages that are the same but for what
// they read; opts, packing and simplification of a kernel are most of lowering.
//
// One graph's, used by one thread. Errors come from the list of steps, `lower`.
//
//   KernelMemo memo(context, lower);
//   absl::StatusOr<Kernel> kernel = memo.lower(stage);
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/kernel/kernel_context.h"

namespace hearth::passes {

class KernelMemo {
 public:
  // References are the caller's.
  KernelMemo(const KernelContext& context, const LowerKernel& lower)
      : context_(context), g_(context.g), lower_(lower) {}

  // The kernel of a stage, with its operands packed where that pays.
  absl::StatusOr<Kernel> lower(ir::UOpRef stage);
  // The same made in the memory of `buffer`, which the stage reads (KernelTask::in_place); nothing where that cannot be.
  absl::StatusOr<std::optional<Kernel>> lower_in_place(ir::UOpRef stage, ir::UOpRef buffer);
  // Makes a packed copy of an elementwise stage without the stage (passes/kernel/packed_copies).
  absl::Status compute_in_copy(Kernel::Packing& packing);

 private:
  // A stage without its name and those of what it reads.
  struct Form {
    ir::UOpRef stage = nullptr;       // equal for stages that have equal kernels
    std::vector<ir::UOpRef> buffers;  // the stage, and what it reads in order of appearance
    std::uint32_t provenance = 0;
  };
  struct Built {
    std::optional<Kernel> kernel;  // nothing: it cannot be made in that memory
    std::vector<ir::UOpRef> buffers;
  };
  struct Copied {
    std::vector<Kernel> kernels;
    std::vector<ir::UOpRef> buffers;
  };
  using FormKey = std::pair<ir::UOpRef, std::ptrdiff_t>;  // form of a stage; in whose memory it is made, of its buffers
  using CopyKey = std::pair<ir::UOpRef, std::vector<ir::UOpRef>>;  // form of the source; the copy, its flat kernels

  std::optional<Form> form_of(ir::UOpRef stage);

  absl::Status lower_copies(Kernel::Packing& packing);

  const KernelContext& context_;
  ir::Graph& g_;
  const LowerKernel& lower_;
  std::map<FormKey, Built> built_;
  std::map<CopyKey, Copied> copied_;
};

}  // namespace hearth::passes
