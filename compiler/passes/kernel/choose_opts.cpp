#include "compiler/passes/kernel/choose_opts.h"

#include <algorithm>

#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/report.h"
#include "compiler/schedule/check_workgroups.h"
#include "compiler/schedule/opts_proto.h"
#include "compiler/schedule/scheduler.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

// Opts that no scheduler has chosen: everything that could refuse them later is asked now.
absl::Status validate(ir::Graph& g, ir::UOpRef flat, const std::vector<schedule::Opt>& opts,
                      const target::Target& target) {
  HEARTH_RETURN_IF_ERROR(schedule::check_opts(flat, opts));
  HEARTH_RETURN_IF_ERROR(schedule::check_workgroups(flat, opts, target));
  HEARTH_ASSIGN_OR_RETURN(ir::UOpRef root, apply_opts(g, flat, opts));
  HEARTH_ASSIGN_OR_RETURN(ir::UOpRef expanded, expand(g, root));
  return check(Level::Expanded, "expand", expanded);
}

bool has_constant_shape(ir::UOpRef buffer) {
  return std::ranges::all_of(axes_of(buffer), [](ir::UOpRef dim) { return dim->is_const(); });
}

}  // namespace

FlatFacts facts_of(const KernelContext& context, const KernelTask& task, const Kernel& kernel) {
  FlatFacts facts{kernel.work, {}, task.may_pack, &task};
  // A copy that is made once is for nothing where the kernel itself runs once.
  const bool runs_once = task.stage && context.is_invariant(task.stage);
  for (ir::UOpRef b : kernel.buffers) {
    facts.slots.push_back({task.may_pack && !runs_once && b != kernel.buffers[0] && context.is_invariant(b),
                           task.may_pack && has_constant_shape(b)});
  }
  return facts;
}

absl::StatusOr<ChosenOpts> choose_opts(const KernelContext& context, ir::UOpRef flat, const FlatFacts& facts) {
  const auto& [g, target, tuning, is_invariant] = context;
  ChosenOpts out;
  if (facts.task && facts.task->own) return ChosenOpts{*facts.task->own, {}};
  const bool is_forced = facts.task && facts.task->forced;
  bool is_chosen = is_forced;
  std::optional<schedule::FlatKernel> canonical;
  if (is_forced || tuning.describe || tuning.reads || (tuning.records && !tuning.records->empty()))
    canonical.emplace(g, flat, facts.slots, facts.may_pack);
  if (is_forced) {
    out.opts = canonical->own(*facts.task->forced);
    HEARTH_RETURN_IF_ERROR(validate(g, flat, out.opts, target));
  } else if (canonical && tuning.records) {
    if (tuning.reads) tuning.reads->insert(canonical->digest());
    if (const std::vector<schedule::Opt>* recorded = tuning.records->find(canonical->digest())) {
      std::vector<schedule::Opt> opts = canonical->own(*recorded);
      const absl::Status valid = validate(g, flat, opts, target);
      is_chosen = valid.ok();
      if (valid.ok()) {
        out.opts = std::move(opts);
        out.choice.set_tuned(true);
      } else if (tuning.warnings) {
        tuning.warnings->push_back(fmt::format("tuning record {} is left out: {}",
                                               to_hex(canonical->digest()).substr(0, 16),
                                               std::string(valid.message())));
      }
    }
  }
  if (!is_chosen) out.opts = schedule::scheduler_for(target).choose(flat, target, facts.work, facts.slots);
  if (tuning.describe) {
    *out.choice.mutable_flat() = canonical->wire();
    *out.choice.mutable_opts() = schedule::to_proto(canonical->canonical(out.opts));
    out.choice.set_digest(to_bytes(canonical->digest()));
  }
  return out;
}

}  // namespace hearth::passes
