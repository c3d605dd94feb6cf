#include "compiler/passes/kernel/choose_opts.h"

#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/report.h"
#include "compiler/schedule/opts_proto.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

// Opts that the heuristic would not have chosen: everything that could refuse them later is asked now.
absl::StatusOr<ir::UOpRef> apply_validated(ir::Graph& g, ir::UOpRef flat, const std::vector<schedule::Opt>& opts) {
  HEARTH_RETURN_IF_ERROR(schedule::check_opts(flat, opts));
  HEARTH_ASSIGN_OR_RETURN(ir::UOpRef root, apply_opts(g, flat, opts));
  HEARTH_ASSIGN_OR_RETURN(ir::UOpRef expanded, expand(g, root));
  HEARTH_RETURN_IF_ERROR(check(Level::Expanded, "expand", expanded));
  return root;
}

}  // namespace

absl::StatusOr<ChosenOpts> choose_opts(ir::Graph& g, ir::UOpRef flat, const target::Target& target, double work,
                                       const std::vector<schedule::SlotFacts>& slots, bool may_pack,
                                       const Tuning& tuning) {
  ChosenOpts out;
  std::optional<schedule::FlatKernel> canonical;
  if (tuning.forced || tuning.describe || tuning.reads || (tuning.records && !tuning.records->empty()))
    canonical.emplace(g, flat, slots, may_pack);
  if (tuning.forced) {
    out.opts = canonical->own(*tuning.forced);
    HEARTH_ASSIGN_OR_RETURN(out.root, apply_validated(g, flat, out.opts));
  } else if (canonical && tuning.records) {
    if (tuning.reads) tuning.reads->insert(canonical->digest());
    if (const std::vector<schedule::Opt>* recorded = tuning.records->find(canonical->digest())) {
      std::vector<schedule::Opt> opts = canonical->own(*recorded);
      absl::StatusOr<ir::UOpRef> root = apply_validated(g, flat, opts);
      if (root.ok()) {
        out.root = *root;
        out.opts = std::move(opts);
        out.choice.set_tuned(true);
      } else if (tuning.warnings) {
        tuning.warnings->push_back(fmt::format("tuning record {} is left out: {}",
                                               to_hex(canonical->digest()).substr(0, 16),
                                               std::string(root.status().message())));
      }
    }
  }
  if (!out.root) {
    out.opts = schedule::heuristic_cpu(flat, target, work, slots);
    HEARTH_ASSIGN_OR_RETURN(out.root, apply_opts(g, flat, out.opts));
  }
  if (tuning.describe) {
    *out.choice.mutable_flat() = canonical->wire();
    *out.choice.mutable_opts() = schedule::to_proto(canonical->canonical(out.opts));
    out.choice.set_digest(to_bytes(canonical->digest()));
  }
  return out;
}

}  // namespace hearth::passes
