#include "compiler/passes/kernel_ast.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/shape.h"
#include "compiler/passes/apply_opts.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/keep_rows.h"
#include "compiler/passes/movement_index.h"
#include "compiler/passes/pack_operands.h"
#include "compiler/passes/reduce_kind.h"
#include "compiler/passes/report.h"
#include "compiler/passes/unify_ranges.h"
#include "compiler/rules/rules.h"
#include "compiler/tune/opts.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

constexpr double kOpsWorthDividing = 60'000;  // a parked thread wakes in tens of microseconds

using ir::Op;
using ir::Shape;
using ir::UOpRef;

// Dims along which index(buffer, ...) runs.
Shape axes_of(UOpRef buffer) {
  Shape shape;
  if (buffer->is(Op::Stage)) {
    for (std::size_t i = 1; i < buffer->sources.size(); ++i) shape.push_back(buffer->source(i)->source(0));
  } else {
    shape.assign(buffer->sources.begin(), buffer->sources.end());
  }
  return shape;
}

bool has_constant_shape(UOpRef buffer) {
  return std::ranges::all_of(axes_of(buffer), [](UOpRef dim) { return dim->is_const(); });
}

UOpRef param(ir::Graph& g, ir::DType dtype, std::size_t slot) {
  return g.make(Op::Param, dtype, {}, ir::ParamInfo{static_cast<std::uint32_t>(slot)});
}

// Bodies with placeholder buffers -> params, flat indices. Slots are in order of first appearance.
struct Flattener {
  ir::Graph& g;
  KernelAst& out;

  UOpRef slot_of(UOpRef buffer) {
    auto found = std::ranges::find(out.buffers, buffer);
    std::size_t slot = found - out.buffers.begin();
    if (found == out.buffers.end()) out.buffers.push_back(buffer);
    return param(g, buffer->dtype, slot);
  }

  absl::StatusOr<UOpRef> run(UOpRef stage) {
    std::unordered_map<UOpRef, UOpRef> done;
    std::vector<UOpRef> sources;
    for (UOpRef x : stage_body(stage)) {
      out.provenance = g.merge_provenance(out.provenance, x->provenance);
      if (x->is(Op::Buffer)) continue;  // named by its index nodes only
      sources.clear();
      if (x->is(Op::Index)) {
        std::vector<UOpRef> at;
        for (std::size_t i = 1; i + 1 < x->sources.size(); ++i) at.push_back(done.at(x->source(i)));
        UOpRef flat = flat_index(g, axes_of(x->source(0)), at);
        done[x] = g.make(Op::Index, ir::Scalar::Void, {slot_of(x->source(0)), flat, done.at(x->sources.back())});
        continue;
      }
      for (UOpRef s : x->sources) sources.push_back(done.at(s));
      bool empty = x->is(Op::Reduce) && std::any_of(sources.begin() + 1, sources.end(),
                                                    [](UOpRef r) { return r->source(0)->bounds.max < 1; });
      done[x] = empty ? reduce_identity(g, x->as<ir::ReduceInfo>().kind, x->dtype) : g.with_sources(x, sources);
    }
    std::vector<UOpRef> ranges, at;
    for (std::size_t i = 1; i < stage->sources.size(); ++i) {
      ranges.push_back(done.at(stage->source(i)));
      at.push_back(ranges.back());
    }
    UOpRef target = g.make(Op::Index, ir::Scalar::Void,
                           {param(g, stage->dtype, 0), flat_index(g, axes_of(stage), at), g.boolean(true)});
    std::vector<UOpRef> store = {target, done.at(stage->source(0))};
    store.insert(store.end(), ranges.begin(), ranges.end());
    return g.make(Op::Sink, ir::Scalar::Void, {g.make(Op::Store, ir::Scalar::Void, store)});
  }
};

// The outermost loop, if every store has it and it is worth dividing between threads, gets kind Grid.
UOpRef mark_grid(ir::Graph& g, UOpRef root, double num_ops, UOpRef& grid) {
  UOpRef outer = root->source(0)->sources.size() > 2 ? root->source(0)->source(2) : nullptr;
  if (!outer || num_ops < kOpsWorthDividing || outer->source(0)->bounds.max < 2) return root;
  if (outer->as<ir::RangeInfo>().kind != ir::RangeKind::Loop) return root;
  for (UOpRef store : root->sources) {
    if (store->sources.size() < 3 || store->source(2) != outer) return root;
  }
  grid = outer->source(0);
  std::pair<UOpRef, UOpRef> map[] = {{outer, g.range(grid, outer->as<ir::RangeInfo>().axis, ir::RangeKind::Grid)}};
  return substitute(g, root, map);
}

// Slots, axes and variables in order of appearance: the canonical numbering.
UOpRef renumber(ir::Graph& g, UOpRef root, KernelAst& out) {
  std::vector<std::pair<UOpRef, UOpRef>> map;
  std::vector<UOpRef> slots(1, nullptr);
  std::vector<UOpRef> old_buffers = out.buffers;
  out.buffers.resize(1);
  std::unordered_map<UOpRef, UOpRef> done;
  std::unordered_map<std::uint32_t, std::uint32_t> axes;
  std::vector<UOpRef> sources;
  for (UOpRef x : toposort(root)) {
    if (x->is(Op::Param)) {
      std::uint32_t slot = x->as<ir::ParamInfo>().slot;
      if (slot != 0) {
        out.buffers.push_back(old_buffers[slot]);
        slot = static_cast<std::uint32_t>(out.buffers.size() - 1);
      }
      done[x] = param(g, x->dtype, slot);
    } else if (x->is(Op::Var)) {
      const auto& info = x->as<ir::VarInfo>();
      auto slot = static_cast<std::uint32_t>(out.vars.size());
      out.vars.push_back(info.slot);
      done[x] = g.var(fmt::format("v{}", slot), info.min, info.max, slot);
    } else {
      sources.clear();
      for (UOpRef s : x->sources) sources.push_back(done.at(s));
      if (x->is(Op::Range)) {
        const auto& info = x->as<ir::RangeInfo>();
        auto axis = axes.emplace(info.axis, static_cast<std::uint32_t>(axes.size())).first->second;
        done[x] = g.range(sources[0], axis, info.kind);
      } else {
        done[x] = g.with_sources(x, sources);
      }
    }
  }
  return done.at(root);
}

double trip_count(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }

// Arithmetic at upper bounds: every node once for each combination of the ranges it depends on.
double count_ops(UOpRef root) {
  double total = 0;
  std::unordered_map<UOpRef, std::vector<UOpRef>> depends;
  for (UOpRef x : toposort(root)) {
    std::vector<UOpRef>& d = depends[x];
    if (x->is(Op::Range)) d.push_back(x);
    for (UOpRef s : x->sources) {
      for (UOpRef r : depends.at(s)) {
        if (std::ranges::find(d, r) == d.end()) d.push_back(r);
      }
    }
    double times = 1;
    for (UOpRef r : d) times *= trip_count(r);
    if (x->is(Op::Reduce)) {
      total += times;
      std::erase_if(
          d, [&](UOpRef r) { return std::find(x->sources.begin() + 1, x->sources.end(), r) != x->sources.end(); });
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

// Opts, packing, grid and canonical numbers for a flat kernel whose slots are out.buffers. Copies are not packed again.
absl::Status shape_kernel(ir::Graph& g, UOpRef flat, const v1::Target& target, const IsOnce* is_once, KernelAst& out) {
  out.num_ops = count_ops(flat);
  std::vector<bool> once;
  for (UOpRef b : out.buffers) once.push_back(is_once && b != out.buffers[0] && (*is_once)(b));
  const std::vector<tune::Opt> opts = tune::heuristic_cpu(flat, target, out.num_ops, once);
  HEARTH_ASSIGN_OR_RETURN(UOpRef root, apply_opts(g, flat, opts));
  std::vector<std::uint32_t> slots;
  for (const tune::Opt& opt : opts) {
    // A buffer of symbolic shape may be smaller than what the kernel could read of it.
    if (opt.kind == tune::Opt::Kind::Pack && has_constant_shape(out.buffers[opt.axis])) slots.push_back(opt.axis);
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
      for (UOpRef kernel : operand.kernels) {
        KernelAst& copy = packing.kernels.emplace_back();
        copy.buffers = {packing.copy, packing.source};
        copy.provenance = out.provenance;
        HEARTH_RETURN_IF_ERROR(shape_kernel(g, kernel, target, nullptr, copy));
        copy.name = name_of(copy.root, "pack");
      }
      out.buffers.push_back(packing.copy);
      out.packings.push_back(std::move(packing));
    }
  }
  out.grid = g.index(1);
  root = mark_grid(g, root, out.num_ops, out.grid);
  out.name = name_of(root, "");
  out.root = renumber(g, root, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelAst> build_kernel(ir::Graph& g, UOpRef stage, const v1::Target& target, const IsOnce& is_once) {
  KernelAst out;
  out.buffers.push_back(stage);
  Flattener flattener{g, out};
  HEARTH_ASSIGN_OR_RETURN(UOpRef flat, flattener.run(stage));
  HEARTH_ASSIGN_OR_RETURN(flat, rules::simplify(g, flat));
  flat = unify_ranges(g, flat);
  HEARTH_ASSIGN_OR_RETURN(flat, keep_rows(g, flat));
  HEARTH_RETURN_IF_ERROR(shape_kernel(g, flat, target, &is_once, out));
  return out;
}

}  // namespace hearth::passes
