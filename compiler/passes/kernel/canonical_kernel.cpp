#include "compiler/passes/kernel/canonical_kernel.h"

#include "compiler/ir/renumber.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"
#include "fmt/format.h"

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

static std::string name_of(UOpRef root, std::string_view kind) {
  std::string extents;
  bool reduces = false;
  for (UOpRef x : toposort(root)) {
    if (x->is(Op::Range)) extents += fmt::format("_{}", x->source(0)->bounds.max);
    reduces |= x->is(Op::Reduce);
  }
  if (extents.size() > 48) extents.resize(48);
  return (kind.empty() ? reduces ? "r" : "e" : std::string(kind)) + extents;
}

absl::StatusOr<UOpRef> guard_bounds(const KernelContext& context, UOpRef kernel, Kernel& out) {
  std::vector<UOpRef> sizes;
  for (UOpRef b : out.buffers) {
    HEARTH_ASSIGN_OR_RETURN(UOpRef size, rules::simplify(context.g, num_elements(context.g, axes_of(b))));
    sizes.push_back(size);
  }
  kernel = guard_bounds(context.g, kernel, sizes, out.bounds);
  out.cost.guarded = static_cast<double>(out.bounds.guarded);
  return kernel;
}

UOpRef renumber(const KernelContext& context, UOpRef kernel, std::string_view kind, Kernel& out) {
  out.name = name_of(kernel, kind);
  ir::Renumbered renumbered = ir::renumber(context.g, kernel);
  std::vector<UOpRef> buffers;
  for (std::uint32_t slot : renumbered.slots) buffers.push_back(out.buffers[slot]);
  out.buffers = std::move(buffers);
  out.vars = std::move(renumbered.vars);
  return renumbered.root;
}

}  // namespace hearth::passes
