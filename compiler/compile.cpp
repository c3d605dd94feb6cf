// The whole pipeline, top to bottom. Each step is one file of compiler/passes, checked by passes/spec after it.
#include "compiler/compile.h"

#include "compiler/codegen/llvm/codegen.h"
#include "compiler/ir/shape.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/decompose.h"
#include "compiler/passes/expand.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/guard_loads.h"
#include "compiler/passes/import.h"
#include "compiler/passes/linearize.h"
#include "compiler/passes/lower_index.h"
#include "compiler/passes/memory_plan.h"
#include "compiler/passes/plan_build.h"
#include "compiler/passes/rangeify.h"
#include "compiler/passes/report.h"
#include "compiler/passes/split_kernels.h"
#include "compiler/rules/rules.h"

namespace hearth::compiler {
namespace {

using ir::UOpRef;
using passes::Level;

UOpRef sink_of(ir::Graph& g, const std::vector<UOpRef>& values) { return g.make(ir::Op::Sink, ir::Scalar::Void, values); }

}  // namespace

absl::StatusOr<v1::LoweredPlan> lower(const v1::Graph& graph, const v1::Target& target, const v1::CompileOptions& options) {
  ir::Graph g;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, options.dump());

  passes::ImportedGraph imported;
  HEARTH_ASSIGN_OR_RETURN(UOpRef root, log.run("import", Level::Tensor, [&]() -> absl::StatusOr<UOpRef> {
    HEARTH_ASSIGN_OR_RETURN(imported, passes::import_graph(g, graph));
    return sink_of(g, imported.outputs);
  }));
  std::vector<std::vector<UOpRef>> output_shapes;
  ir::ShapeCache shapes(g);
  for (UOpRef output : imported.outputs) output_shapes.push_back(shapes.of(output));

  HEARTH_ASSIGN_OR_RETURN(root, log.run("canonicalize", Level::Tensor, [&]() -> absl::StatusOr<UOpRef> {
    HEARTH_ASSIGN_OR_RETURN(imported.outputs, passes::canonicalize(g, imported.outputs));
    return sink_of(g, imported.outputs);
  }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("rangeify", Level::Ranged, [&] { return passes::rangeify(g, imported.outputs); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("fuse", Level::Ranged, [&] { return passes::fuse(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(passes::Schedule schedule, log.time("split", [&] { return passes::split_kernels(g, root, imported, output_shapes, target); }));
  passes::MemoryPlan memory = log.time("memory_plan", [&] { return passes::memory_plan(schedule); });
  v1::LoweredPlan plan = log.time("plan", [&] { return passes::build_plan(schedule, memory, imported, graph, target); });
  if (options.dump()) plan.mutable_passes()->Swap(&reports);
  else plan.clear_kernel_sources();
  return plan;
}

absl::StatusOr<v1::CompiledKernel> compile_kernel(const v1::KernelSpec& kernel, const v1::Target& target, const v1::CompileOptions& options) {
  ir::Graph g;
  v1::CompiledKernel out;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, options.dump());

  HEARTH_ASSIGN_OR_RETURN(UOpRef root, log.run("parse", Level::Kernel, [&] { return ir::parse(g, kernel.ast()); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("expand", Level::Expanded, [&] { return passes::expand(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("guard_loads", Level::Expanded, [&]() -> absl::StatusOr<UOpRef> { return passes::guard_loads(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("decompose", Level::Expanded, [&]() -> absl::StatusOr<UOpRef> { return passes::decompose(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("simplify", Level::Expanded, [&] { return rules::simplify(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(root, log.run("lower_index", Level::Lowered, [&]() -> absl::StatusOr<UOpRef> { return passes::lower_index(g, root); }));
  HEARTH_ASSIGN_OR_RETURN(passes::LinearKernel linear, log.time("linearize", [&] { return passes::linearize(g, root); }));
  linear.symbol = kernel.symbol();
  HEARTH_RETURN_IF_ERROR(passes::check_linear(linear));
  log.attach(ir::print_list(linear.body));
  if (target.device() == "null") {
    out.mutable_artifact()->set_format(v1::Artifact::NONE);
  } else {
    HEARTH_ASSIGN_OR_RETURN(*out.mutable_artifact()->mutable_data(), log.time("codegen", [&] { return codegen::compile_cpu(linear, target, options); }));
    out.mutable_artifact()->set_format(v1::Artifact::ELF_SO);
    if (options.dump()) {
      HEARTH_ASSIGN_OR_RETURN(std::string text, codegen::emit_llvm_ir(linear, target, options));
      log.attach(std::move(text));
    }
  }
  if (options.dump()) out.mutable_passes()->Swap(&reports);
  return out;
}

}  // namespace hearth::compiler
