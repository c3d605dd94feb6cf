// kernel_ast: one stage -> the canonical AST of its kernel (see split_kernels.h), with the opts of the target applied.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/kernel/check_bounds.h"
#include "compiler/passes/kernel/choose_opts.h"
#include "compiler/passes/kernel/kernel_cost.h"
#include "compiler/passes/kernel/launch_work.h"
#include "compiler/target/target.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::passes {

struct KernelAst {
  ir::UOpRef root = nullptr;        // sink(store(...)), no symbol yet
  std::vector<ir::UOpRef> buffers;  // param slot -> the stage or Buffer it stands for; slot 0 is the stage itself
  std::vector<std::uint32_t> vars;  // kernel var slot -> graph var slot
  ir::UOpRef grid = nullptr;        // units of the Grid range over the graph's vars; 1 without one
  std::string name;                 // from kind and extents, e.g. "r_64_128"
  double num_ops = 0;               // at upper bounds
  double work = 0;                  // operations, or elements stored where those are more (a copy): for threads
  LaunchWork launch_work;           // both over the graph's vars
  std::uint32_t provenance = 0;
  BoundsCount bounds;
  v1::KernelChoice choice;  // with Tuning::describe
  KernelCost cost;          // likewise

  // Copies of operands (passes/kernel/pack_operands) that `buffers` names and that must be made before this kernel
  // runs.
  struct Packing {
    ir::UOpRef copy = nullptr;    // the Buffer that stands for it in `buffers`
    ir::UOpRef source = nullptr;  // the stage or Buffer it is made of
    std::int64_t elements = 0;
    std::vector<KernelAst> kernels;  // slot 0: the copy, slot 1: the source
    std::vector<ir::UOpRef> flat;    // the same before opts
  };
  std::vector<Packing> packings;
};

// Whether a stage or Buffer holds the same values at every replay: what is made of it is made once.
using IsOnce = std::function<bool(ir::UOpRef)>;

// Makes a packed copy of an elementwise stage without the stage: the copy's kernels compute what they would have read.
// Slots of the new kernels: the copy, then what the stage reads.
absl::Status compute_in_copy(ir::Graph& graph, KernelAst::Packing& packing, const target::Target& target,
                             const Tuning& tuning = {});

absl::StatusOr<KernelAst> build_kernel(ir::Graph& graph, ir::UOpRef stage, const target::Target& target,
                                       const IsOnce& is_once, const Tuning& tuning = {});

// The kernel of a stage that is made in the memory of `buffer`, a Buffer that it reads (kernel/update_in_place);
// nothing where it has to be made elsewhere.
absl::StatusOr<std::optional<KernelAst>> build_in_place(ir::Graph& graph, ir::UOpRef stage, ir::UOpRef buffer,
                                                        const target::Target& target, const IsOnce& is_once,
                                                        const Tuning& tuning = {});

// The last step of it alone, for a flat kernel that stands for itself (compiler/candidate): `buffers` are Buffers, one
// a param; no `is_once`: operands are not packed.
absl::StatusOr<KernelAst> shape_flat_kernel(ir::Graph& graph, ir::UOpRef flat, std::vector<ir::UOpRef> buffers,
                                            const target::Target& target, const IsOnce* is_once, const Tuning& tuning);

// The two ends of that step, for kernels whose loops are decided where they are made. `out.buffers` stand for the
// slots. Arithmetic, work and bytes of a kernel before its loops are split:
void count_work(ir::Graph& graph, ir::UOpRef flat, const target::Target& target, const Tuning& tuning, KernelAst& out);
// What follows once they are: estimate, grid, bounds, name (which begins with `kind`, empty for the usual ones) and
// canonical numbers, into `out`.
absl::Status finish_kernel(ir::Graph& graph, ir::UOpRef kernel, const target::Target& target, const Tuning& tuning,
                           std::string_view kind, KernelAst& out);

}  // namespace hearth::passes
