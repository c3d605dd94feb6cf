#include "compiler/passes/kernel/kernel_ast.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/renumber.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/kernel/block_rows.h"
#include "compiler/passes/kernel/evaluations.h"
#include "compiler/passes/kernel/flatten_stage.h"
#include "compiler/passes/kernel/kernel_estimate.h"
#include "compiler/passes/kernel/mark_grid.h"
#include "compiler/passes/kernel/materialize_row_values.h"
#include "compiler/passes/kernel/pack_operands.h"
#include "compiler/passes/kernel/prove_conditions.h"
#include "compiler/passes/kernel/share_allocations.h"
#include "compiler/passes/kernel/update_in_place.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/passes/ranged/compute_at.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/rules/rules.h"
#include "compiler/schedule/opts.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

bool has_constant_shape(UOpRef buffer) {
  return std::ranges::all_of(axes_of(buffer), [](UOpRef dim) { return dim->is_const(); });
}

double trip_count(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }

// Of the loops that all stores share, the one under which most of what is read stays the same: the innermost of them.
UOpRef rows_of(UOpRef root, const std::vector<UOpRef>& shared) {
  UOpRef best = nullptr;
  double most = -1;
  for (UOpRef loop : shared) {
    double reread = 0;
    for (UOpRef x : toposort(root)) {
      if (!x->is(Op::Index) || !x->source(0)->is(Op::Param)) continue;
      double bytes = byte_size(x->source(0)->dtype);
      bool moves = false;
      for (UOpRef r : toposort(x)) {
        moves |= r == loop;
        if (r->is(Op::Range)) bytes *= trip_count(r);
      }
      if (!moves) reread += bytes;
    }
    if (reread >= most) most = reread, best = loop;
  }
  return best;
}

// The shared loops become the outermost of every store, `rows` the last of them.
UOpRef with_outer_loops(ir::Graph& g, UOpRef root, const std::vector<UOpRef>& shared, UOpRef rows) {
  auto place = [&](UOpRef r) { return r == rows ? 1 : std::ranges::find(shared, r) == shared.end() ? 2 : 0; };
  std::vector<UOpRef> stores;
  for (UOpRef store : root->sources) {
    std::vector<UOpRef> sources(store->sources.begin(), store->sources.end());
    // Loops of one place in the order of the first kept stage, then of the store.
    std::stable_sort(sources.begin() + 2, sources.end(), [&](UOpRef a, UOpRef b) {
      if (place(a) != place(b)) return place(a) < place(b);
      return place(a) == 0 && std::ranges::find(shared, a) < std::ranges::find(shared, b);
    });
    stores.push_back(g.with_sources(store, sources));
  }
  return g.make(Op::Sink, root->dtype, stores, root->payload);
}

// The canonical numbering, also of what the kernel's slots and variables stand for.
UOpRef renumber(ir::Graph& g, UOpRef root, KernelAst& out) {
  ir::Renumbered renumbered = ir::renumber(g, root);
  std::vector<UOpRef> buffers;
  for (std::uint32_t slot : renumbered.slots) buffers.push_back(out.buffers[slot]);
  out.buffers = std::move(buffers);
  out.vars = std::move(renumbered.vars);
  return renumbered.root;
}

// Elements that the stores write, at upper bounds.
double count_stored(UOpRef root) {
  double total = 0;
  for (UOpRef store : root->sources) total += extent({store->sources.begin() + 2, store->sources.end()});
  return total;
}

// Arithmetic at upper bounds.
double count_ops(UOpRef root) {
  double total = 0;
  Dependence depends;
  for (UOpRef x : toposort(root)) {
    const double times = evaluations(enter(depends, x));
    if (x->is(Op::Reduce)) {
      total += times;
      close_reduction(depends, x);
    } else if (ir::is_elementwise(x->op) && !is_index(x->dtype) && !is_bool(x->dtype)) {
      total += times;
    }
  }
  return total;
}

std::string name_of(UOpRef root, std::string_view kind) {
  std::string extents;
  bool reduces = false;
  for (UOpRef x : toposort(root)) {
    if (x->is(Op::Range)) extents += fmt::format("_{}", x->source(0)->bounds.max);
    reduces |= x->is(Op::Reduce);
  }
  if (extents.size() > 48) extents.resize(48);
  return (kind.empty() ? reduces ? "r" : "e" : std::string(kind)) + extents;
}

using Values = std::vector<std::pair<UOpRef, UOpRef>>;

// What stands for the variables where costs are counted; nothing for their upper bounds.
Values values_of(ir::Graph& g, UOpRef kernel, std::span<const std::int64_t> by_slot) {
  Values values;
  if (by_slot.empty()) return values;
  for (UOpRef x : toposort(kernel)) {
    if (!x->is(Op::Var)) continue;
    const std::uint32_t slot = x->as<ir::VarInfo>().slot;
    if (slot < by_slot.size()) values.emplace_back(x, g.index(by_slot[slot]));
  }
  return values;
}

UOpRef at_values(ir::Graph& g, UOpRef x, const Values& values) { return values.empty() ? x : substitute(g, x, values); }

// At the upper bounds of variables that have no value.
std::vector<std::int64_t> max_elements(ir::Graph& g, const std::vector<UOpRef>& buffers, const Values& values) {
  std::vector<std::int64_t> elements;
  for (UOpRef buffer : buffers) {
    double count = 1;
    for (UOpRef dim : axes_of(buffer)) count *= static_cast<double>(at_values(g, dim, values)->bounds.max);
    elements.push_back(static_cast<std::int64_t>(std::min(count, 9e18)));
  }
  return elements;
}

// Opts, packing, grid and canonical numbers for a flat kernel whose slots are out.buffers. Copies are not packed again.
absl::Status shape_kernel(ir::Graph& g, UOpRef flat, const target::Target& target, const IsOnce* is_once,
                          const Tuning& tuning, KernelAst& out) {
  count_work(g, flat, target, tuning, out);
  std::vector<schedule::SlotFacts> facts;
  for (UOpRef b : out.buffers)
    facts.push_back({is_once && b != out.buffers[0] && (*is_once)(b), is_once && has_constant_shape(b)});
  HEARTH_ASSIGN_OR_RETURN(ChosenOpts chosen, choose_opts(g, flat, target, out.work, facts, is_once, tuning));
  UOpRef root = chosen.root;
  out.choice = std::move(chosen.choice);
  std::vector<std::uint32_t> slots;
  for (const schedule::Opt& opt : chosen.opts) {
    if (opt.kind == schedule::Opt::Kind::Pack) slots.push_back(opt.axis);
  }
  if (!slots.empty() && is_once) {
    HEARTH_ASSIGN_OR_RETURN(PackResult packed,
                            pack_operands(g, root, slots, static_cast<std::uint32_t>(out.buffers.size())));
    root = packed.kernel;
    for (PackedOperand& operand : packed.packed) {
      KernelAst::Packing packing;
      packing.source = out.buffers[operand.source_slot];
      // An id that no buffer of the graph has; split_kernels gives the copy its own.
      packing.copy = g.make(Op::Buffer, packing.source->dtype, {g.index(operand.elements)},
                            ir::BufferInfo{ir::BufferKind::Arena, ~operand.slot});
      packing.elements = operand.elements;
      packing.flat = operand.kernels;
      for (UOpRef kernel : operand.kernels) {
        KernelAst& copy = packing.kernels.emplace_back();
        copy.buffers = {packing.copy, packing.source};
        copy.provenance = out.provenance;
        Tuning of_copy = tuning;
        of_copy.forced.reset();
        HEARTH_RETURN_IF_ERROR(shape_kernel(g, kernel, target, nullptr, of_copy, copy));
        copy.name = name_of(copy.root, "pack");
      }
      out.buffers.push_back(packing.copy);
      out.packings.push_back(std::move(packing));
    }
  }
  return finish_kernel(g, root, target, tuning, "", out);
}

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
  std::unordered_map<UOpRef, UOpRef> done;
  std::vector<UOpRef> sources;
  for (UOpRef x : toposort(value)) {
    sources.clear();
    for (UOpRef s : x->sources) sources.push_back(done.at(s));
    if (x->is(Op::Index)) sources.back() = ir::fold_and(g, gate, sources.back());
    done[x] = g.with_sources(x, sources);
  }
  return g.where(gate, done.at(value), g.zero_like(value));
}

}  // namespace

void count_work(ir::Graph& g, UOpRef flat, const target::Target& target, const Tuning& tuning, KernelAst& out) {
  out.num_ops = count_ops(flat);
  out.work = std::max(out.num_ops, count_stored(flat));
  out.launch_work = launch_work(g, flat);
  if (!tuning.describe) return;
  const Values values = values_of(g, flat, tuning.var_values);
  out.cost = kernel_cost(at_values(g, flat, values), max_elements(g, out.buffers, values));
  out.cost.least_cycles = out.cost.ops / ops_per_cycle(target);
}

absl::Status finish_kernel(ir::Graph& g, UOpRef root, const target::Target& target, const Tuning& tuning,
                           std::string_view kind, KernelAst& out) {
  if (tuning.describe) out.cost.cycles = estimated_cycles(at_values(g, root, values_of(g, root, tuning.var_values)));
  const MarkedGrid marked = mark_grid(g, root, out.num_ops, out.work, target);
  HEARTH_ASSIGN_OR_RETURN(root, rules::simplify(g, marked.kernel));
  out.grid = marked.units;
  std::vector<UOpRef> sizes;
  for (UOpRef b : out.buffers) {
    HEARTH_ASSIGN_OR_RETURN(UOpRef size, rules::simplify(g, num_elements(g, axes_of(b))));
    sizes.push_back(size);
  }
  root = guard_bounds(g, root, sizes, out.bounds);
  out.cost.guarded = static_cast<double>(out.bounds.guarded);
  out.name = name_of(root, kind);
  out.root = renumber(g, root, out);
  return absl::OkStatus();
}

absl::Status compute_in_copy(ir::Graph& g, KernelAst::Packing& packing, const target::Target& target,
                             const Tuning& tuning) {
  packing.kernels.clear();
  for (UOpRef kernel : packing.flat) {
    KernelAst& copy = packing.kernels.emplace_back();
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
    HEARTH_RETURN_IF_ERROR(shape_kernel(g, flat, target, nullptr, tuning, copy));
    copy.name = name_of(copy.root, "pack");
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelAst> build_kernel(ir::Graph& g, UOpRef stage, const target::Target& target, const IsOnce& is_once,
                                       const Tuning& tuning) {
  KernelAst out;
  out.buffers.push_back(stage);
  StageFlattener flattener(g, stage, out);
  UOpRef flat = flattener.run();
  UOpRef rows = nullptr;
  if (!flattener.shared().empty()) {
    rows = rows_of(flat, flattener.shared());
    flat = with_outer_loops(g, flat, flattener.shared(), rows);
  }
  HEARTH_ASSIGN_OR_RETURN(flat, rules::simplify(g, flat));
  HEARTH_ASSIGN_OR_RETURN(flat, materialize_row_values(g, flat, target.allocation_bytes()));
  flat = share_allocations(g, flat);
  if (rows) {
    HEARTH_ASSIGN_OR_RETURN(flat, block_rows(g, flat, rows, target.allocation_bytes()));
  }
  HEARTH_ASSIGN_OR_RETURN(flat, prove_conditions(g, flat));
  HEARTH_RETURN_IF_ERROR(shape_kernel(g, flat, target, &is_once, tuning, out));
  return out;
}

absl::StatusOr<std::optional<KernelAst>> build_in_place(ir::Graph& g, UOpRef stage, UOpRef buffer,
                                                        const target::Target& target, const IsOnce& is_once,
                                                        const Tuning& tuning) {
  KernelAst out;
  out.buffers.push_back(stage);
  StageFlattener flattener(g, stage, out);
  UOpRef flat = flattener.run();
  const auto found = std::ranges::find(out.buffers, buffer);
  if (!flattener.shared().empty() || found == out.buffers.end()) return std::nullopt;
  HEARTH_ASSIGN_OR_RETURN(flat, rules::simplify(g, flat));
  const auto slot = static_cast<std::uint32_t>(found - out.buffers.begin());
  HEARTH_ASSIGN_OR_RETURN(const std::optional<UOpRef> updated, update_in_place(g, flat, slot));
  if (!updated) return std::nullopt;
  HEARTH_ASSIGN_OR_RETURN(flat, prove_conditions(g, *updated));
  HEARTH_RETURN_IF_ERROR(shape_kernel(g, flat, target, &is_once, tuning, out));
  return out;
}

absl::StatusOr<KernelAst> shape_flat_kernel(ir::Graph& g, UOpRef flat, std::vector<UOpRef> buffers,
                                            const target::Target& target, const IsOnce* is_once, const Tuning& tuning) {
  KernelAst out;
  out.buffers = std::move(buffers);
  HEARTH_RETURN_IF_ERROR(shape_kernel(g, flat, target, is_once, tuning, out));
  return out;
}

}  // namespace hearth::passes
