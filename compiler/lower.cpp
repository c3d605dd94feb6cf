// lower: a traced graph to its plan: what compiler/compile.cpp makes of each part of its ranges, checked, placed and
// written.
#include <algorithm>
#include <optional>
#include <set>

#include "compiler/compile.h"
#include "compiler/passes/import/import.h"
#include "compiler/passes/import/var_values.h"
#include "compiler/passes/lowered/loop_rounds.h"
#include "compiler/passes/plan/alternatives.h"
#include "compiler/passes/plan/check_limits.h"
#include "compiler/passes/plan/launch_levels.h"
#include "compiler/passes/plan/memory_plan.h"
#include "compiler/passes/plan/parallel_regions.h"
#include "compiler/passes/plan/plan_build.h"
#include "compiler/pipeline.h"
#include "compiler/target/check_record.h"

namespace hearth::compiler {
namespace {

using ir::UOpRef;
using passes::Level;

absl::StatusOr<UOpRef> import_into(ir::Graph& g, const v1::Graph& graph, passes::ImportedGraph& imported) {
  HEARTH_ASSIGN_OR_RETURN(imported, passes::import_graph(g, graph));
  return g.make(ir::Op::Sink, ir::Scalar::Void, imported.outputs);
}

// Refuses a kernel whose invocation would go on for longer than the target lets it, by name. Kernels are lowered for
// that only where an estimate does not settle it.
absl::Status check_rounds(const passes::Schedule& schedule, const target::Target& target,
                          const v1::CompileOptions& options) {
  const std::int64_t most = target.max_loop_rounds();
  if (most == 0) return absl::OkStatus();
  std::vector<std::int64_t> turns(schedule.kernels.size(), 1);  // units that one invocation or workgroup computes
  for (const passes::PlannedLaunch& launch : schedule.launches) {
    const bool is_of_workgroups = schedule.kernels[launch.kernel].workgroup > 0;
    const std::int64_t invocations = target.max_workgroups() * (is_of_workgroups ? 1 : target.workgroup_size());
    std::int64_t& most_turns = turns[launch.kernel];
    most_turns = std::max(most_turns, (launch.grid->bounds.max + invocations - 1) / invocations);
  }
  for (std::size_t i = 0; i < schedule.kernels.size(); ++i) {
    const passes::PlannedKernel& kernel = schedule.kernels[i];
    if (kernel.blob) continue;
    ir::Graph g;
    v1::KernelSpec spec;
    spec.set_symbol(kernel.symbol);
    spec.set_ast(kernel.ast);
    HEARTH_ASSIGN_OR_RETURN(UOpRef ast, ir::parse(g, kernel.ast));
    if (passes::loop_rounds_bound(ast) <= most / turns[i]) continue;
    google::protobuf::RepeatedPtrField<v1::PassReport> reports;
    passes::PassLog log(&reports, /*dump=*/false);
    HEARTH_ASSIGN_OR_RETURN(passes::LinearKernel linear, linear_kernel(spec, {g, target, options, log}));
    const std::int64_t rounds = passes::loop_rounds(linear);
    if (rounds <= most / turns[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel '", kernel.symbol, "' (", kernel.source, ") makes ", rounds,
        turns[i] == 1 ? "" : absl::StrCat(" times ", turns[i]),
        " loop rounds in one invocation at the variables' upper bounds, and target ", target.name(), " ends it after ",
        most, " (max_loop_rounds, max_invocation_ms); use smaller lengths or bounds, or device cpu"));
  }
  return absl::OkStatus();
}

// Launches by levels, where that takes little memory; whether it does.
bool use_levels(passes::Schedule& schedule, passes::MemoryPlan& memory, const target::Target& target) {
  passes::Schedule by_levels = schedule;
  passes::order_by_levels(by_levels);
  const passes::MemoryPlan more = passes::memory_plan(by_levels);
  if (more.arena_bytes > std::max(target.small_arena_bytes(), memory.arena_bytes + memory.arena_bytes / 4))
    return false;
  schedule = std::move(by_levels);
  memory = more;
  return true;
}

// What lowering says beside its plan, of all parts of a range.
struct Told {
  std::set<std::string> warnings;  // each once, however many stages are the same kernel
  std::set<Digest> reads;          // flat kernels that tuning records were looked up for
};

// One plan of a graph whose variables are not divided; nothing where outputs that it asks for in the memory of inputs
// have to be made elsewhere, which it then asks for no longer.
absl::StatusOr<std::optional<v1::LoweredPlan>> try_lower(v1::Graph& graph, const target::Target& target,
                                                         const v1::CompileOptions& options,
                                                         const TuningRecords& records, const BlobLibraries& libraries,
                                                         Told& told) {
  ir::Graph g;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, options.dump());

  std::vector<std::string> warnings;
  const schedule::Records recorded(records, warnings);
  passes::Tuning tuning;
  tuning.records = &recorded;
  tuning.reads = &told.reads;
  tuning.describe = options.dump();
  if (tuning.describe)
    tuning.var_values = {options.var_values().data(), static_cast<std::size_t>(options.var_values_size())};
  tuning.warnings = &warnings;

  passes::ImportedGraph imported;
  UOpRef root = nullptr;
  HEARTH_PASS(import, Level::Tensor, import_into(g, graph, imported));
  const Compilation compilation{g, target, options, log};
  Lowering lowering{compilation, libraries, tuning};
  HEARTH_ASSIGN_OR_RETURN(passes::Schedule schedule, schedule_of(root, imported, lowering));
  if (!schedule.not_in_place.empty()) {
    std::set<std::string> names;
    for (const std::uint32_t i : schedule.not_in_place) names.insert(imported.output_names[imported.carried[i].output]);
    for (v1::CarriedInput& carried : *graph.mutable_carried()) {
      if (names.contains(carried.output())) carried.clear_storage();
    }
    return std::nullopt;
  }
  HEARTH_RETURN_IF_ERROR(log.time("check_rounds", [&] { return check_rounds(schedule, target, options); }));
  schedule.regions = log.time("parallel_regions", [&] { return passes::parallel_regions(schedule, target); });
  passes::MemoryPlan memory = log.time("memory_plan", [&] { return passes::memory_plan(schedule); });
  if (target.unit() == target::Unit::Invocation)
    log.time("launch_levels", [&] { return use_levels(schedule, memory, target); });
  HEARTH_RETURN_IF_ERROR(passes::check_limits(schedule, memory, target));
  v1::LoweredPlan plan =
      log.time("plan", [&] { return passes::build_plan(g, {schedule, memory, imported, graph}, target); });
  if (options.dump() || options.pass_times()) plan.mutable_passes()->Swap(&reports);
  if (options.dump()) {
    plan.mutable_notes()->Assign(lowering.notes.begin(), lowering.notes.end());
  }
  told.warnings.insert(warnings.begin(), warnings.end());
  return plan;
}

absl::StatusOr<v1::LoweredPlan> lower_alternative(v1::Graph graph, const target::Target& target,
                                                  const v1::CompileOptions& options, const TuningRecords& records,
                                                  const BlobLibraries& libraries, Told& told) {
  for (int attempt = 0;; ++attempt) {  // each time for fewer carried outputs, the third time for none
    if (attempt == 2) {
      for (v1::CarriedInput& carried : *graph.mutable_carried()) carried.clear_storage();
    }
    HEARTH_ASSIGN_OR_RETURN(std::optional<v1::LoweredPlan> plan,
                            try_lower(graph, target, options, records, libraries, told));
    if (plan) return *std::move(plan);
  }
}

// What outputs are carried to, in place or not.
void name_carried(const v1::Graph& graph, v1::Plan& plan) {
  const auto find = [&](v1::PlanBuffer::Kind kind, const std::string& name) {
    return std::ranges::find_if(*plan.mutable_buffers(),
                                [&](const v1::PlanBuffer& b) { return b.kind() == kind && b.name() == name; });
  };
  for (const v1::CarriedInput& carried : graph.carried()) {
    const auto output = find(v1::PlanBuffer::OUTPUT, carried.output());
    const auto input = find(v1::PlanBuffer::INPUT, carried.input());
    if (output != plan.buffers().end() && input != plan.buffers().end())
      output->set_carried_to(static_cast<std::uint32_t>(input - plan.mutable_buffers()->begin()));
  }
}

}  // namespace

absl::StatusOr<v1::LoweredPlan> lower(const v1::Graph& graph, const v1::Target& record,
                                      const v1::CompileOptions& options, const TuningRecords& records,
                                      const BlobLibraries& libraries) {
  HEARTH_RETURN_IF_ERROR(target::check_record(record));
  HEARTH_RETURN_IF_ERROR(passes::check_var_values(graph, options));
  const target::Target target(record);
  Told told;
  HEARTH_ASSIGN_OR_RETURN(const std::vector<passes::Alternative> alternatives, passes::alternatives_of(graph));
  std::vector<v1::LoweredPlan> plans;
  for (const passes::Alternative& alternative : alternatives) {
    v1::Graph one = alternative.graph;
    // Parts of a range would have to agree on the memory.
    if (alternatives.size() > 1 || target.unit() == target::Unit::Invocation) {
      for (v1::CarriedInput& carried : *one.mutable_carried()) carried.clear_storage();
    }
    HEARTH_ASSIGN_OR_RETURN(plans.emplace_back(),
                            lower_alternative(std::move(one), target, options, records, libraries, told));
  }
  v1::LoweredPlan plan;
  if (plans.size() == 1) {
    plan = std::move(plans.front());
  } else {
    HEARTH_ASSIGN_OR_RETURN(plan, passes::merged(graph, alternatives, std::move(plans)));
  }
  name_carried(graph, *plan.mutable_plan());
  if (!options.dump()) {
    plan.clear_kernel_sources();
    plan.clear_choices();
    plan.clear_kernel_costs();
  }
  for (const std::string& warning : told.warnings) plan.add_warnings(warning);
  for (const Digest& kernel : told.reads) plan.add_tuning_reads(to_bytes(kernel));
  return plan;
}

}  // namespace hearth::compiler
