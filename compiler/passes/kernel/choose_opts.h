// choose_opts: opts for one flat kernel, applied: those of a tuning record where there is one that fits, else the
// heuristic's. A record that does not fit costs a warning, never the kernel.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/flat_kernel.h"
#include "compiler/schedule/records.h"
#include "compiler/target/target.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::passes {

// What decides beside the heuristic, and what is told about it.
struct Tuning {
  const schedule::Records* records = nullptr;             // null: none
  std::set<Digest>* reads = nullptr;                      // gets the flat kernels that records were looked up for
  std::optional<std::vector<schedule::Opt>> forced = {};  // a candidate's, in canonical axes; errors are told
  bool describe = false;                                  // fill in ChosenOpts::choice
  std::span<const std::int64_t> var_values = {};          // by slot, at which costs are counted; none: upper bounds
  std::vector<std::string>* warnings = nullptr;           // null: dropped
};

struct ChosenOpts {
  std::vector<schedule::Opt> opts;  // in the kernel's own axes and slots
  ir::UOpRef root = nullptr;        // the kernel with all of them applied but PACK
  v1::KernelChoice choice;          // with Tuning::describe
};

absl::StatusOr<ChosenOpts> choose_opts(ir::Graph& graph, ir::UOpRef flat, const target::Target& target, double work,
                                       const std::vector<schedule::SlotFacts>& slots, bool may_pack,
                                       const Tuning& tuning);

}  // namespace hearth::passes
