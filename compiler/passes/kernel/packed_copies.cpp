#include "compiler/passes/kernel/packed_copies.h"

#include <unordered_map>

#include "compiler/ir/rebuild.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/kernel/flatten.h"
#include "compiler/passes/kernel/pack_operands.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

// Row-major coordinates of a flat position.
std::vector<UOpRef> coordinates(ir::Graph& g, UOpRef position, const Shape& shape) {
  std::vector<UOpRef> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = i == 0 ? position : ir::fold_floormod(g, position, shape[i]);
    position = ir::fold_floordiv(g, position, shape[i]);
  }
  return at;
}

// `value` where `gate` holds, every load below it gated too; else zero.
UOpRef gated(ir::Graph& g, UOpRef value, UOpRef gate) {
  if (gate == g.boolean(true)) return value;
  const UOpRef inside = rebuild(g, value, [&](UOpRef x, ir::Sources& sources) -> UOpRef {
    if (x->is(Op::Index)) sources.back() = ir::fold_and(g, gate, sources.back());
    return nullptr;
  });
  return g.where(gate, inside, g.zero_like(value));
}

}  // namespace

absl::StatusOr<UOpRef> pack(const KernelContext& context, UOpRef root, const std::vector<schedule::Opt>& opts,
                            Kernel& out) {
  ir::Graph& g = context.g;
  std::vector<std::uint32_t> slots;
  for (const schedule::Opt& opt : opts) {
    if (opt.kind == schedule::Opt::Kind::Pack) slots.push_back(opt.axis);
  }
  if (slots.empty()) return root;
  HEARTH_ASSIGN_OR_RETURN(PackResult packed,
                          pack_operands(g, root, slots, static_cast<std::uint32_t>(out.buffers.size())));
  for (PackedOperand& operand : packed.packed) {
    Kernel::Packing packing;
    packing.source = out.buffers[operand.source_slot];
    // An id that no buffer of the graph has; split_kernels gives the copy its own.
    packing.copy = g.make(Op::Buffer, packing.source->dtype, {g.index(operand.elements)},
                          ir::BufferInfo{ir::BufferKind::Arena, ~operand.slot});
    packing.elements = operand.elements;
    packing.flat = std::move(operand.kernels);
    out.buffers.push_back(packing.copy);
    out.packings.push_back(std::move(packing));
  }
  return packed.kernel;
}

std::vector<KernelTask> tasks_of(const Kernel::Packing& packing, std::uint32_t provenance) {
  std::vector<KernelTask> tasks;
  for (UOpRef flat : packing.flat)
    tasks.push_back(
        {.flat = flat, .buffers = {packing.copy, packing.source}, .provenance = provenance, .kind = "pack"});
  return tasks;
}

absl::StatusOr<std::vector<KernelTask>> tasks_computing_source(ir::Graph& g, const Kernel::Packing& packing) {
  std::vector<KernelTask> tasks;
  for (UOpRef kernel : packing.flat) {
    Kernel copy;
    copy.buffers = {packing.copy};
    UOpRef store = kernel->source(0), read = store->source(1)->source(0);
    // Simple coordinates first: they stand in many positions.
    const std::vector<UOpRef> at = coordinates(g, read->source(1), axes_of(packing.source));
    HEARTH_ASSIGN_OR_RETURN(UOpRef simple, rules::simplify(g, g.make(Op::Sink, ir::Scalar::Void, at)));
    StageFlattener flattener(g, packing.source, copy);
    std::vector<UOpRef> sources(store->sources.begin(), store->sources.end());
    sources[1] = gated(g, flattener.value_at({simple->sources.begin(), simple->sources.end()}), read->source(2));
    UOpRef flat = g.make(Op::Sink, ir::Scalar::Void, {g.with_sources(store, sources)});
    HEARTH_ASSIGN_OR_RETURN(flat, rules::simplify(g, flat));
    tasks.push_back({.flat = flat, .buffers = std::move(copy.buffers), .provenance = copy.provenance, .kind = "pack"});
  }
  return tasks;
}

}  // namespace hearth::passes
