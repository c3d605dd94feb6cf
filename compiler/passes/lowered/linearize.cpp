// Every node is placed in the innermost loop it depends on; what depends on no loop stands before all of them. A
// reduction that only stores of a loop of at most one round use stands inside of that loop: outside it saves nothing,
// and runs where the loop does not.
// Ranges of invocations are no loops: all of them are the number of the invocation in its workgroup. What a reduction
// has over one is summed across the workgroup (across_workgroup.h). A store to an allocation may stand in a loop of the
// reduction that reads it. Reductions over the same ranges share one loop. The order within a loop follows the
// toposort, with each inner loop as one item after everything its body reads from outside.
#include "compiler/passes/lowered/linearize.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/status_macros.h"
#include "compiler/ir/text.h"
#include "compiler/passes/lowered/across_workgroup.h"
#include "compiler/passes/lowered/own_ranges.h"
#include "compiler/passes/lowered/place_barriers.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/passes/lowered/running_loops.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

class Linearizer {
 public:
  Linearizer(ir::Graph& g, UOpRef root, std::int64_t subgroup) : g_(g), root_(root), subgroup_(subgroup) {}

  absl::StatusOr<LinearKernel> run() {
    order_ = toposort(root_);
    running_ = running_loops(order_);
    for (UOpRef x : order_) {
      if (is_invocation(x)) {
        free_[x];
      } else {
        collect(x);
      }
    }
    collect_plain_stores();
    for (UOpRef x : order_) {
      if (!conflicting_loops_.empty())
        return absl::InternalError("linearize: reductions over the same ranges differ in their loops");
      if (is_invocation(x)) continue;
      if (auto s = place(x); !s.ok()) return s;
    }
    if (auto s = open_workgroup(); !s.ok()) return s;
    for (UOpRef x : order_) {  // initial values stand before every loop
      if (!x->is(Op::Reduce)) continue;
      UOpRef init = reduce_identity(g_, x->as<ir::ReduceInfo>().kind, x->dtype);
      if (init->is(Op::Broadcast) && emitted_.insert(init->source(0)).second) push(init->source(0));
      if (emitted_.insert(init).second) push(init);
    }
    if (auto s = emit_scope(nullptr); !s.ok()) return s;
    LinearKernel kernel;
    if (const auto* info = std::get_if<ir::KernelInfo>(&root_->payload)) kernel.symbol = info->symbol;
    for (UOpRef x : body_) {
      if (x->is(Op::Param)) kernel.num_buffers = std::max<int>(kernel.num_buffers, x->as<ir::ParamInfo>().slot + 1);
      if (x->is(Op::Var)) kernel.num_vars = std::max<int>(kernel.num_vars, x->as<ir::VarInfo>().slot + 1);
    }
    kernel.body = place_barriers(g_, std::move(body_), shared_);
    return kernel;
  }

  // What needs ranges of its own before this kernel has an order: reductions of one loop that share ranges with
  // reductions of another (unrolled copies come to that when simplifying takes the outer loop out of some of them), a
  // store whose loops are nested in another way than those of a store before it.
  const std::vector<UOpRef>& conflicting_loops() const { return conflicting_loops_; }

 private:
  // A loop nest that closes as one: the ranges of a group of reductions, or one range of stores.
  struct Nest {
    std::vector<UOpRef> ranges;
    std::vector<UOpRef> reduces;  // Reduce nodes it computes; empty for stores
    std::vector<UOpRef> members;  // reduces or stores
  };

  static bool is_invocation(UOpRef x) { return ir::is_range(x, ir::RangeKind::Invocation); }
  static bool is_across_workgroup(UOpRef reduce) {
    return std::any_of(reduce->sources.begin() + 1, reduce->sources.end(), is_invocation);
  }

  static std::vector<UOpRef> own_ranges(UOpRef x) {
    std::vector<UOpRef> ranges;
    if (x->is(Op::Reduce)) ranges = {x->sources.begin() + 1, x->sources.end()};
    if (x->is(Op::Store)) ranges = {x->sources.begin() + 2, x->sources.end()};
    std::erase_if(ranges, is_invocation);
    return ranges;
  }

  // One number of the invocation for all ranges of them, in front of everything. A shorter one, of a reduction, is the
  // highest digit of it.
  absl::Status open_workgroup() {
    UOpRef longest = nullptr;
    for (UOpRef x : order_) {
      if (!is_invocation(x)) continue;
      if (!x->source(0)->is_const())
        return absl::InternalError(fmt::format("linearize: {} is of any length", ir::describe(x)));
      if (!longest || x->source(0)->int_value() > longest->source(0)->int_value()) longest = x;
    }
    if (!longest) return absl::OkStatus();
    workgroup_.open(longest, order_, subgroup_);
    for (UOpRef x : order_) {
      if (!is_invocation(x)) continue;
      const std::int64_t size = x->source(0)->int_value();
      if (size < 1 || workgroup_.size() % size != 0)
        return absl::InternalError(fmt::format("linearize: {} is of another workgroup", ir::describe(x)));
      linear_[x] = workgroup_.digit(size);
    }
    return absl::OkStatus();
  }

  // Free ranges, and the nests.
  void collect(UOpRef x) {
    std::vector<UOpRef>& free = free_[x];
    if (x->is(Op::Range)) free.push_back(x);
    std::vector<UOpRef> own = own_ranges(x);
    if (x->is(Op::Store) && x->source(0)->source(0)->is(Op::Allocate)) stores_of_[x->source(0)->source(0)].push_back(x);
    for (UOpRef s : x->sources) {
      for (UOpRef r : free_.at(s)) {
        if (std::ranges::find(free, r) == free.end() && std::ranges::find(own, r) == own.end()) free.push_back(r);
      }
    }
    if (own.empty()) return;
    if (x->is(Op::Reduce)) stay_inside(x, free);
    if (x->is(Op::Store)) {  // a tree of loops: stores may share outer ones
      if (stands_elsewhere(own) && !uses_allocation(x)) {
        conflicting_loops_.push_back(x);
        return;
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (ir::is_range(own[i], ir::RangeKind::Reduce)) continue;  // of the reduction that reads what is stored
        nests_[own[i]] = Nest{{own[i]}, {}, {x}};
        nest_of_[own[i]] = own[i];
        store_parent_[own[i]] = i ? own[i - 1] : nullptr;
      }
      return;
    }
    const bool shares_some = std::ranges::any_of(own, [&](UOpRef r) {
      auto found = nest_of_.find(r);
      return found != nest_of_.end() && nests_.at(found->second).ranges != own;
    });
    if (shares_some) {
      conflicting_loops_.push_back(x);
      return;
    }
    Nest& nest = nests_[own[0]];
    nest.ranges = own;
    nest.members.push_back(x);
    nest.reduces.push_back(x);
    for (UOpRef r : own) nest_of_[r] = own[0];
  }

  // Loops of at most one round around every use of a reduction count as ones that it depends on.
  void stay_inside(UOpRef reduce, std::vector<UOpRef>& free) const {
    const auto loops = running_.find(reduce);
    if (loops == running_.end()) return;
    for (UOpRef r : loops->second) {
      const bool optional = ir::is_range(r, ir::RangeKind::Loop) && r->source(0)->bounds.max <= 1;
      if (optional && std::ranges::find(free, r) == free.end()) free.push_back(r);
    }
  }

  // For each buffer that a store writes at positions which were read from memory: the other stores to it.
  void collect_plain_stores() {
    std::unordered_map<UOpRef, std::vector<UOpRef>> plain;
    for (UOpRef store : root_->sources) {
      UOpRef buffer = store->source(0)->source(0);
      if (has_read_position(store->source(0))) {
        plain_stores_[buffer];
      } else {
        plain[buffer].push_back(store);
      }
    }
    for (auto& [buffer, stores] : plain_stores_) stores = plain[buffer];
  }

  static bool has_read_position(UOpRef index) { return contains_op(index->source(1), Op::Load); }

  // Whether one of a store's ranges is a loop around or inside of others in another store.
  bool stands_elsewhere(const std::vector<UOpRef>& own) const {
    for (std::size_t i = 0; i < own.size(); ++i) {
      auto parent = store_parent_.find(own[i]);
      if (parent != store_parent_.end() && parent->second != (i ? own[i - 1] : nullptr)) return true;
    }
    return false;
  }

  // An allocation belongs to its loops: one store writes what another reads.
  static bool uses_allocation(UOpRef store) {
    return std::ranges::any_of(toposort(store), [](UOpRef x) { return x->is(Op::Allocate); });
  }

  // Depth of a range in the loop tree, 1 for outermost; its parent loop.
  absl::StatusOr<int> depth(UOpRef range) {
    if (auto found = depth_.find(range); found != depth_.end()) return found->second;
    const Nest& nest = nests_.at(nest_of_.at(range));
    auto at = std::ranges::find(nest.ranges, range);
    UOpRef parent = nullptr;
    if (at != nest.ranges.begin()) {
      parent = *(at - 1);
    } else if (nest.members[0]->is(Op::Reduce)) {
      HEARTH_ASSIGN_OR_RETURN(parent, loop_around(nest));
    } else {
      parent = store_parent_.at(range);
    }
    int d = 1;
    if (parent) {
      auto above = depth(parent);
      if (!above.ok()) return above;
      d = *above + 1;
    }
    parent_[range] = parent;
    depth_[range] = d;
    return d;
  }

  // The innermost loop that the reductions of a nest depend on. They may be those of two stores whose loops are not
  // nested: then the last one's get ranges of their own.
  absl::StatusOr<UOpRef> loop_around(const Nest& nest) {
    std::vector<UOpRef> around;
    for (UOpRef m : nest.members) around.insert(around.end(), free_.at(m).begin(), free_.at(m).end());
    absl::StatusOr<UOpRef> deepest = innermost(around);
    if (deepest.ok() || nest.members.size() == 1) return deepest;
    HEARTH_ASSIGN_OR_RETURN(UOpRef of_last, innermost(free_.at(nest.members.back())));
    std::vector<UOpRef> moved;
    for (UOpRef m : nest.members) {
      HEARTH_ASSIGN_OR_RETURN(UOpRef own, innermost(free_.at(m)));
      if (own == of_last) moved.push_back(m);
    }
    if (moved.size() < nest.members.size()) conflicting_loops_ = moved;
    return deepest;
  }

  absl::StatusOr<UOpRef> innermost(const std::vector<UOpRef>& ranges) {
    UOpRef best = nullptr;
    int best_depth = 0;
    for (UOpRef r : ranges) {
      if (!nest_of_.contains(r))
        return absl::InternalError(fmt::format("linearize: {} is closed by nothing", ir::describe(r)));
      HEARTH_ASSIGN_OR_RETURN(auto d, depth(r));
      if (d > best_depth) best = r, best_depth = d;
    }
    // All of them must be loops around the innermost one.
    std::unordered_set<UOpRef> path;
    for (UOpRef r = best; r; r = parent_.at(r)) path.insert(r);
    for (UOpRef r : ranges) {
      if (!path.contains(r)) {
        return absl::InternalError(fmt::format("linearize: {} and {} are needed at one place but are not nested",
                                               ir::describe(r), ir::describe(best)));
      }
    }
    return best;
  }

  absl::Status place(UOpRef x) {
    if (x->is(Op::Sink)) return absl::OkStatus();
    std::vector<UOpRef> ranges = free_.at(x);
    std::vector<UOpRef> own = own_ranges(x);
    for (UOpRef r : own) {
      if (auto d = depth(r); !d.ok()) return d.status();
    }
    if (x->is(Op::Store)) ranges.insert(ranges.end(), own.begin(), own.end());
    HEARTH_ASSIGN_OR_RETURN(auto scope, innermost(ranges));
    if (x->is(Op::Reduce) && !own.empty() && scope != parent_.at(own[0])) {
      for (UOpRef other : nests_.at(nest_of_.at(own[0])).reduces) {
        auto place_of_other = innermost(free_.at(other));
        if (place_of_other.ok() && *place_of_other == scope) conflicting_loops_.push_back(other);
      }
      return absl::OkStatus();
    }
    scope_[x] = scope;
    if (x->is(Op::Range)) {
      if (nest_of_.at(x) == x) children_[parent_.at(x)].push_back(x);
    } else {
      items_[scope].push_back(x);
    }
    return absl::OkStatus();
  }

  // The item of scope `s` that produces `x`: a node, or the first range of a nest directly inside `s`; null if outside.
  UOpRef item_for(UOpRef x, UOpRef s) const {
    UOpRef at = x->is(Op::Range) ? x : scope_.at(x);
    if (!x->is(Op::Range) && at == s) {
      std::vector<UOpRef> own = x->is(Op::Reduce) ? own_ranges(x) : std::vector<UOpRef>();
      return own.empty() ? x : own[0];
    }
    for (UOpRef r = at; r; r = parent_.at(r)) {
      if (parent_.at(r) == s && nest_of_.at(r) == r) return r;
    }
    return nullptr;
  }

  // Everything in scope `range` and below.
  void subtree(UOpRef range, std::vector<UOpRef>& out) const {
    if (auto found = items_.find(range); found != items_.end())
      out.insert(out.end(), found->second.begin(), found->second.end());
    out.push_back(range);
    if (auto found = children_.find(range); found != children_.end()) {
      for (UOpRef child : found->second) subtree_of_nest(child, out);
    }
  }
  void subtree_of_nest(UOpRef first, std::vector<UOpRef>& out) const {
    const Nest& nest = nests_.at(first);
    for (UOpRef r : nest.ranges) subtree(r, out);
    out.insert(out.end(), nest.reduces.begin(), nest.reduces.end());
  }

  absl::Status visit(UOpRef item, UOpRef s) {
    int& state = state_[item];
    if (state == 2) return absl::OkStatus();
    if (state == 1)
      return absl::InternalError(fmt::format("linearize: {} depends on its own loop", ir::describe(item)));
    state = 1;
    std::vector<UOpRef> inside;
    if (item->is(Op::Range)) {
      subtree_of_nest(item, inside);
    } else {
      inside.push_back(item);
    }
    auto require = [&](UOpRef x) {
      if (is_invocation(x)) return absl::OkStatus();
      UOpRef needed = item_for(x, s);
      return !needed || needed == item ? absl::OkStatus() : visit(needed, s);
    };
    for (UOpRef x : inside) {
      for (UOpRef source : x->sources) {
        if (auto status = require(source); !status.ok()) return status;
      }
      // What is written at positions that were read, or read there, comes behind all plain stores.
      if (!plain_stores_.empty() && (x->is(Op::Load) || x->is(Op::Store)) && has_read_position(x->source(0))) {
        if (auto found = plain_stores_.find(x->source(0)->source(0)); found != plain_stores_.end()) {
          for (UOpRef store : found->second) {
            if (auto status = require(store); !status.ok()) return status;
          }
        }
      }
      // An allocation is read when all of it is written.
      if (!x->is(Op::Load) || !x->source(0)->source(0)->is(Op::Allocate)) continue;
      for (UOpRef store : stores_of_[x->source(0)->source(0)]) {
        if (auto status = require(store); !status.ok()) return status;
      }
    }
    state_[item] = 2;
    return item->is(Op::Range) ? emit_nest(item) : emit_node(item);
  }

  absl::Status emit_scope(UOpRef s) {
    if (auto found = items_.find(s); found != items_.end()) {
      for (UOpRef x : found->second) {
        UOpRef item = item_for(x, s);
        // A store is emitted where it stands; a reduction's loop is emitted when its result is due.
        if (auto status = visit(item, s); !status.ok()) return status;
      }
    }
    if (auto found = children_.find(s); found != children_.end()) {
      for (UOpRef child : found->second) {
        if (auto status = visit(child, s); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  UOpRef mapped(UOpRef x) const {
    auto found = linear_.find(x);
    return found == linear_.end() ? x : found->second;
  }
  UOpRef push(UOpRef x) {
    body_.push_back(x);
    return x;
  }

  absl::Status emit_node(UOpRef x) {
    if (x->is(Op::Reduce)) {  // over invocations alone
      linear_[x] = across_workgroup(x, mapped(x->source(0)));
      return absl::OkStatus();
    }
    if (x->is(Op::Load) && x->source(0)->source(0)->is(Op::Allocate)) {
      const std::vector<UOpRef>& stores = stores_of_[x->source(0)->source(0)];
      if (stores.empty() || !std::ranges::all_of(stores, [&](UOpRef store) { return linear_.contains(store); }))
        return absl::InternalError(fmt::format("linearize: {} reads what is not stored yet", ir::describe(x)));
    }
    std::vector<UOpRef> sources;
    std::size_t count = x->is(Op::Store) ? 2 : x->sources.size();
    for (std::size_t i = 0; i < count; ++i) sources.push_back(mapped(x->source(i)));
    // All rounds of a reduction have the same memory.
    const auto is_reduced = [](UOpRef r) { return ir::is_range(r, ir::RangeKind::Reduce); };
    if (x->is(Op::Allocate)) std::erase_if(sources, is_reduced);
    UOpRef copy = g_.with_sources(x, sources);
    if (x->is(Op::Allocate) && workgroup_.invocation() &&
        std::ranges::find(sources, workgroup_.invocation()) == sources.end())
      shared_.push_back(copy);
    linear_[x] = copy;
    if (emitted_.insert(copy).second) push(copy);
    return absl::OkStatus();
  }

  absl::Status emit_nest(UOpRef first) {
    const Nest& nest = nests_.at(first);
    std::vector<UOpRef> accs;
    for (UOpRef r : nest.reduces) {
      UOpRef init = reduce_identity(g_, r->as<ir::ReduceInfo>().kind, r->dtype);
      accs.push_back(push(g_.make(Op::Acc, r->dtype, {init}, ir::AccInfo{next_acc_++})));
    }
    std::vector<UOpRef> open;
    absl::Status status = open_range(nest, 0, accs);
    if (!status.ok()) return status;
    UOpRef end = g_.make(Op::End, ir::Scalar::Void, {mapped(first)});
    for (std::size_t i = 0; i < accs.size(); ++i) {
      UOpRef reduce = nest.reduces[i], result = push(g_.make(Op::AccResult, reduce->dtype, {accs[i], end}));
      linear_[reduce] = is_across_workgroup(reduce) ? across_workgroup(reduce, result) : result;
    }
    return absl::OkStatus();
  }

  // The sum of all invocations' `partial` values.
  UOpRef across_workgroup(UOpRef reduce, UOpRef partial) {
    const auto range = std::find_if(reduce->sources.begin() + 1, reduce->sources.end(), is_invocation);
    return workgroup_.combine(reduce->as<ir::ReduceInfo>().kind, partial, (*range)->source(0)->int_value(),
                              open_loops_);
  }

  absl::Status open_range(const Nest& nest, std::size_t i, const std::vector<UOpRef>& accs) {
    UOpRef range = nest.ranges[i];
    UOpRef copy = g_.with_sources(range, std::vector<UOpRef>{mapped(range->source(0))});
    linear_[range] = copy;
    push(copy);
    open_loops_.push_back(copy);
    if (i + 1 < nest.ranges.size()) {
      // What stands directly in this loop comes before the next one of the nest.
      if (auto s = emit_scope(range); !s.ok()) return s;
      if (auto s = open_range(nest, i + 1, accs); !s.ok()) return s;
    } else {
      if (auto s = emit_scope(range); !s.ok()) return s;
      for (std::size_t k = 0; k < accs.size(); ++k) {
        UOpRef r = nest.reduces[k];
        push(g_.make(Op::AccUpdate, ir::Scalar::Void, {accs[k], mapped(r->source(0))},
                     ir::ReduceInfo{r->as<ir::ReduceInfo>().kind, {}}));
      }
    }
    push(g_.make(Op::End, ir::Scalar::Void, {copy}));
    open_loops_.pop_back();
    return absl::OkStatus();
  }

  ir::Graph& g_;
  UOpRef root_;
  const std::int64_t subgroup_;
  std::vector<UOpRef> order_, body_;
  absl::flat_hash_map<UOpRef, Loops> running_;
  std::unordered_map<UOpRef, std::vector<UOpRef>> free_;
  std::unordered_map<UOpRef, Nest> nests_;                        // by first range
  std::unordered_map<UOpRef, std::vector<UOpRef>> stores_of_;     // allocation -> what writes it
  std::unordered_map<UOpRef, std::vector<UOpRef>> plain_stores_;  // param -> see collect_plain_stores
  std::unordered_map<UOpRef, UOpRef> store_parent_;
  std::unordered_map<UOpRef, UOpRef> nest_of_;  // range -> first range of its nest
  std::unordered_map<UOpRef, UOpRef> parent_, scope_, linear_;
  std::unordered_map<UOpRef, int> depth_, state_;
  std::unordered_map<UOpRef, std::vector<UOpRef>> items_;     // scope -> nodes, in toposort order
  std::unordered_map<UOpRef, std::vector<UOpRef>> children_;  // scope -> first ranges of nests directly inside
  std::unordered_set<UOpRef> emitted_;
  std::vector<UOpRef> conflicting_loops_;
  std::vector<UOpRef> open_loops_;  // in the body, outermost first
  AcrossWorkgroup workgroup_{g_, [this](UOpRef line) {
                               if (emitted_.insert(line).second) push(line);
                             }};
  std::vector<UOpRef> shared_;  // allocations that all invocations of a workgroup have
  std::uint32_t next_acc_ = 0;
};

}  // namespace

absl::StatusOr<LinearKernel> linearize(ir::Graph& graph, UOpRef kernel, std::int64_t subgroup) {
  for (;;) {
    Linearizer linearizer(graph, kernel, subgroup);
    absl::StatusOr<LinearKernel> result = linearizer.run();
    if (linearizer.conflicting_loops().empty()) return result;
    kernel = with_own_ranges(graph, kernel, linearizer.conflicting_loops());  // fewer share ranges each time
  }
}

}  // namespace hearth::passes
