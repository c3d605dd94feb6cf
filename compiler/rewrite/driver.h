// Drivers: apply a RuleSet to everything below a root. Iterative (depth is no limit), each node once.
// rewrite: to a fix-point, bottom up; what a rule returns is rewritten again. walk: one pass, results are left as they
// are. A stage (Op::Stage) is a value of its own: it is neither rewritten nor entered, so that an expression may be
// rewritten alone without making a second node of a stage that others read. Errors: RESOURCE_EXHAUSTED when the budget is used up, naming the last rules fired (rules that undo each other).
//
//   absl::StatusOr<UOpRef> simple = rewrite(graph, root, rules);
#pragma once
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/rewrite/rule_set.h"

namespace hearth::rewrite {

struct RewriteOptions {
  std::uint64_t max_rewrites = 1'000'000;
  std::vector<std::uint64_t>* fire_counts = nullptr;  // added to, one a rule of rules()
};

// Sees every rewrite of this thread's drivers while it lives; one at a time a thread. For tests, which prove what fired.
class FireObserver {
 public:
  FireObserver();
  virtual ~FireObserver();
  FireObserver(const FireObserver&) = delete;
  FireObserver& operator=(const FireObserver&) = delete;
  virtual void fired(const Rule& rule, ir::UOpRef before, ir::UOpRef after) = 0;
};

absl::StatusOr<ir::UOpRef> rewrite(ir::Graph& graph, ir::UOpRef root, const RuleSet& rules,
                                   const RewriteOptions& options = {});
absl::StatusOr<ir::UOpRef> walk(ir::Graph& graph, ir::UOpRef root, const RuleSet& rules,
                                const RewriteOptions& options = {});

}  // namespace hearth::rewrite
