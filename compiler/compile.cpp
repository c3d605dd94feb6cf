// The whole pipeline, top to bottom. Each step is one file of compiler/passes, checked by passes/spec after it.
#include "compiler/compile.h"

#include <optional>
#include <unordered_set>

#include "compiler/codegen/generator.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/passes/kernel/block_rows.h"
#include "compiler/passes/kernel/canonical_kernel.h"
#include "compiler/passes/kernel/choose_opts.h"
#include "compiler/passes/kernel/flatten.h"
#include "compiler/passes/kernel/kernel_work.h"
#include "compiler/passes/kernel/mark_grid.h"
#include "compiler/passes/kernel/materialize_row_values.h"
#include "compiler/passes/kernel/matrix_tiles.h"
#include "compiler/passes/kernel/number_invocations.h"
#include "compiler/passes/kernel/packed_copies.h"
#include "compiler/passes/kernel/prove_conditions.h"
#include "compiler/passes/kernel/share_allocations.h"
#include "compiler/passes/kernel/shared_tiles.h"
#include "compiler/passes/kernel/split_kernels.h"
#include "compiler/passes/kernel/update_in_place.h"
#include "compiler/passes/lowered/decompose.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/lowered/guard_loads.h"
#include "compiler/passes/lowered/linearize.h"
#include "compiler/passes/lowered/lower_index.h"
#include "compiler/passes/ranged/arrange_weights.h"
#include "compiler/passes/ranged/choose_layouts.h"
#include "compiler/passes/ranged/compute_at.h"
#include "compiler/passes/ranged/fuse.h"
#include "compiler/passes/ranged/keep_scores.h"
#include "compiler/passes/ranged/mark_branches.h"
#include "compiler/passes/ranged/merge_loads.h"
#include "compiler/passes/ranged/narrow_stages.h"
#include "compiler/passes/ranged/rangeify.h"
#include "compiler/passes/ranged/wide_values.h"
#include "compiler/passes/ranged/winograd.h"
#include "compiler/passes/tensor/canonicalize.h"
#include "compiler/passes/tensor/choose_blobs.h"
#include "compiler/passes/tensor/separate_branches.h"
#include "compiler/passes/tensor/split_reductions.h"
#include "compiler/pipeline.h"
#include "compiler/rules/rules.h"
#include "compiler/target/check_record.h"

namespace hearth::compiler {

using ir::UOpRef;
using passes::Level;

static std::vector<ir::Shape> shapes_of(ir::Graph& g, UOpRef sink) {
  ir::ShapeCache shapes(g);
  std::vector<ir::Shape> all;
  for (UOpRef output : sink->sources) all.push_back(shapes.of(output));
  return all;
}

absl::StatusOr<passes::Schedule> schedule_of(UOpRef root, passes::ImportedGraph& imported, Lowering& lowering,
                                             bool is_body) {
  const auto& [g, target, options, log] = lowering.compilation;
  const bool has_branches = target.unit() == target::Unit::Share && !is_body;  // whose launches the host may skip
  std::vector<passes::Schedule> bodies;
  for (passes::ImportedLoop& loop : imported.loops) {
    UOpRef outputs = g.make(ir::Op::Sink, ir::Scalar::Void, loop.body.outputs);
    HEARTH_ASSIGN_OR_RETURN(passes::Schedule body, schedule_of(outputs, loop.body, lowering, true));
    bodies.push_back(std::move(body));
  }
  const std::vector<ir::Shape> output_shapes = shapes_of(g, root);
  passes::BlobChoices blobs;
  HEARTH_PASS(choose_blobs, Level::Tensor,
              passes::choose_blobs(g, root, {target, lowering.libraries, imported}, blobs));
  HEARTH_PASS(canonicalize, Level::Tensor, passes::canonicalize(g, root));
  if (has_branches) {
    HEARTH_PASS(separate_branches, Level::Tensor, passes::separate_branches(g, root));
  }
  HEARTH_PASS(split_reductions, Level::Tensor, passes::split_reductions(g, root, target));
  HEARTH_PASS(rangeify, Level::Ranged, passes::rangeify(g, root));
  HEARTH_PASS(choose_layouts, Level::Ranged, passes::choose_layouts(g, root, target, !options.direct_convolutions()));
  HEARTH_PASS(fuse, Level::Ranged, passes::fuse(g, root, target));
  HEARTH_PASS(narrow_stages, Level::Ranged, passes::narrow_stages(g, root, target));
  HEARTH_PASS(wide_values, Level::Ranged, passes::wide_values(g, root));
  HEARTH_PASS(merge_loads, Level::Ranged, passes::merge_loads(g, root));
  HEARTH_PASS(arrange_weights, Level::Ranged, passes::arrange_weights(g, root));
  if (!options.direct_convolutions()) {
    HEARTH_PASS(winograd, Level::Ranged, passes::winograd(g, root, target));
  }
  HEARTH_PASS(compute_at, Level::Ranged, passes::compute_at(g, root, target));
  HEARTH_PASS(keep_scores, Level::Ranged, passes::keep_scores(g, root, target));
  if (has_branches) {
    std::unordered_set<std::size_t> carried;
    for (const passes::ImportedCarry& carry : imported.carried) carried.insert(carry.output);
    HEARTH_PASS(mark_branches, Level::Ranged, passes::mark_branches(g, root, carried));
  }
  // Each stage, once a form, by the list below; then buffers and launches in their order.
  passes::PassLog kernels = log.summed("kernels");
  const passes::LowerKernel lower = [&kernels](const auto& task, const auto& context) {
    return lower_to_kernel(task, context, kernels);
  };
  const passes::StageGraph stages{root, imported, output_shapes, blobs.kernels, std::move(bodies)};
  HEARTH_ASSIGN_OR_RETURN(passes::Schedule schedule, log.time("kernels", [&] {
    return passes::split_kernels(stages, {g, target, lowering.tuning, {}}, lower);
  }));
  const passes::BoundsCount& bounds = schedule.bounds;
  log.part("kernels/check_bounds", bounds.time_ns, bounds.accesses, to_string(bounds));
  lowering.notes.insert(lowering.notes.end(), blobs.notes.begin(), blobs.notes.end());
  return schedule;
}

// One kernel, from what its stage computes, or from a flat kernel, to the AST that a worker compiles.
static absl::StatusOr<std::optional<passes::Kernel>> lower_one(const passes::KernelTask& task,
                                                               const passes::KernelContext& context,
                                                               passes::PassLog& log) {
  const auto& [g, target, tuning, is_invariant] = context;
  passes::Kernel kernel{.buffers = task.buffers, .provenance = task.provenance};
  UOpRef root = task.flat;
  if (task.stage) {
    HEARTH_PASS(flatten, Level::Flat, passes::flatten(g, task.stage, kernel));
    HEARTH_PASS(simplify, Level::Flat, rules::simplify(g, root));
    if (task.in_place) {
      HEARTH_ASSIGN_OR_RETURN(const std::optional<UOpRef> updated, log.time("update_in_place", [&] {
        return passes::update_in_place(g, root, task.in_place, kernel);
      }));
      if (!updated) return std::nullopt;
      root = *updated;
    } else {
      HEARTH_PASS(materialize_row_values, Level::Flat,
                  passes::materialize_row_values(g, root, target.allocation_bytes()));
      HEARTH_PASS(share_allocations, Level::Flat, passes::share_allocations(g, root, target));
      HEARTH_PASS(block_rows, Level::Flat, passes::block_rows(g, root, kernel.rows, target));
    }
    HEARTH_PASS(prove_conditions, Level::Flat, passes::prove_conditions(g, root));
  }
  passes::count_work(context, root, kernel);
  HEARTH_ASSIGN_OR_RETURN(passes::ChosenOpts chosen, log.time("choose_opts", [&] {
    return passes::choose_opts(context, root, passes::facts_of(context, task, kernel));
  }));
  kernel.choice = std::move(chosen.choice);
  HEARTH_PASS(apply_opts, Level::Scheduled, passes::apply_opts(g, root, chosen.opts));
  if (task.may_pack) {
    HEARTH_PASS(pack_operands, Level::Scheduled, passes::pack(context, root, chosen.opts, kernel));
  }
  HEARTH_PASS(share_tiles, Level::Scheduled, passes::share_tiles(g, root, chosen.opts));
  HEARTH_PASS(matrix_tiles, Level::Scheduled, passes::matrix_tiles(g, root, chosen.opts, target));
  passes::estimate_cycles(context, root, kernel);
  HEARTH_PASS(number_invocations, Level::Kernel, passes::number_invocations(g, root));
  HEARTH_PASS(mark_grid, Level::Kernel, passes::mark_grid(g, root, target, kernel));
  HEARTH_PASS(simplify, Level::Kernel, rules::simplify(g, root));
  HEARTH_PASS(guard_bounds, Level::Kernel, passes::guard_bounds(context, root, kernel));
  HEARTH_PASS(renumber, Level::Kernel, passes::renumber(context, root, task.kind, kernel));
  kernel.root = root;
  return kernel;
}

absl::StatusOr<std::optional<passes::Kernel>> lower_to_kernel(const passes::KernelTask& task,
                                                              const passes::KernelContext& context,
                                                              passes::PassLog& log) {
  HEARTH_ASSIGN_OR_RETURN(std::optional<passes::Kernel> kernel, lower_one(task, context, log));
  if (!kernel) return kernel;
  for (passes::Kernel::Packing& packing : kernel->packings) {
    for (const passes::KernelTask& copy : passes::tasks_of(packing, kernel->provenance)) {
      HEARTH_ASSIGN_OR_RETURN(std::optional<passes::Kernel> made, lower_one(copy, context, log));
      packing.kernels.push_back(*std::move(made));
    }
  }
  return kernel;
}

absl::StatusOr<passes::LinearKernel> linear_kernel(const v1::KernelSpec& kernel, const Compilation& compilation) {
  const auto& [g, target, options, log] = compilation;
  UOpRef root = nullptr;
  HEARTH_PASS(parse, Level::Kernel, ir::parse(g, kernel.ast()));
  HEARTH_PASS(expand, Level::Expanded, passes::expand(g, root));
  HEARTH_PASS(decompose, Level::Expanded, passes::decompose(g, root, target));
  HEARTH_PASS(simplify, Level::Expanded,
              options.fast_math() ? rules::simplify_fast(g, root) : rules::simplify(g, root));
  HEARTH_PASS(guard_loads, Level::Expanded, passes::guard_loads(g, root));
  HEARTH_PASS(lower_index, Level::Lowered, passes::lower_index(g, root));
  HEARTH_ASSIGN_OR_RETURN(passes::LinearKernel linear, log.time("linearize", [&] {
    return passes::linearize(g, root, target.exchanging_invocations());
  }));
  linear.symbol = kernel.symbol();
  HEARTH_RETURN_IF_ERROR(passes::check_linear(linear));
  return linear;
}

absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& kernel, const v1::Target& record,
                                                  const v1::CompileOptions& options) {
  HEARTH_RETURN_IF_ERROR(target::check_record(record));
  const target::Target target(record);
  ir::Graph g;
  v1::CompiledKernel out;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, options.dump());

  HEARTH_ASSIGN_OR_RETURN(passes::LinearKernel linear, linear_kernel(kernel, {g, target, options, log}));
  log.attach(ir::print_list(linear.body));
  const codegen::Generator& generator = codegen::generator_for(target);
  HEARTH_ASSIGN_OR_RETURN(*out.mutable_artifact(),
                          log.time("codegen", [&] { return generator.compile(linear, target, options); }));
  if (options.dump()) {
    HEARTH_ASSIGN_OR_RETURN(std::string text, generator.source_text(linear, target, options));
    log.attach(std::move(text));
    HEARTH_ASSIGN_OR_RETURN(text,
                            log.time("assembly", [&] { return generator.assembly_text(linear, target, options); }));
    log.attach(std::move(text));
  }
  if (options.dump() || options.pass_times()) out.mutable_passes()->Swap(&reports);
  return out;
}

}  // namespace hearth::compiler
