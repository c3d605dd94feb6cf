// KernelMemo: kernels of stages, each distinct one made once. A net has many stages that are the same but for what
// they read; opts, packing and simplification of a kernel are most of lowering.
//
// Of one graph and one thread. Errors: those of passes/kernel/kernel_ast.
//
//   KernelMemo memo(graph, target, is_once, tuning);
//   absl::StatusOr<KernelAst> kernel = memo.build(stage);
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/passes/kernel/kernel_ast.h"
#include "compiler/target/target.h"

namespace hearth::passes {

class KernelMemo {
 public:
  KernelMemo(ir::Graph& graph, const target::Target& target, IsOnce is_once, const Tuning& tuning)
      : g_(graph), target_(target), is_once_(std::move(is_once)), tuning_(tuning) {}

  // build_kernel and compute_in_copy of passes/kernel/kernel_ast.
  absl::StatusOr<KernelAst> build(ir::UOpRef stage);
  absl::Status compute_in_copy(KernelAst::Packing& packing);

 private:
  // A stage without its name and those of what it reads.
  struct Form {
    ir::UOpRef stage = nullptr;       // equal for stages that have equal kernels
    std::vector<ir::UOpRef> buffers;  // the stage, and what it reads in order of appearance
    std::uint32_t provenance = 0;
  };
  struct Built {
    KernelAst kernel;
    std::vector<ir::UOpRef> buffers;
  };
  struct Copied {
    std::vector<KernelAst> kernels;
    std::vector<ir::UOpRef> buffers;
  };
  using CopyKey = std::pair<ir::UOpRef, std::vector<ir::UOpRef>>;  // form of the source; the copy, its flat kernels

  std::optional<Form> form_of(ir::UOpRef stage);

  ir::Graph& g_;
  const target::Target& target_;
  const IsOnce is_once_;
  const Tuning& tuning_;
  std::unordered_map<ir::UOpRef, Built> built_;
  std::map<CopyKey, Copied> copied_;
};

}  // namespace hearth::passes
