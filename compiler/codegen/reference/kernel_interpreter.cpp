#include "compiler/codegen/reference/kernel_interpreter.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/codegen/reference/subgroup_product.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::size_t kMostKept = 4096;  // products of one wmma
constexpr int kMaxDepth = 1500;          // of nested expressions; keeps recursion inside the stack, sanitizers included

// Everything known about one node while the kernel runs.
struct State {
  UOpRef node = nullptr;
  std::vector<State*> sources;
  std::vector<State*> depends_on;  // ranges, and params that the kernel stores to
  std::uint64_t changed_at = 0;    // range, param: when it last changed
  bool bound = false;              // range: inside its loop
  Value value;
  std::uint64_t computed_at = 0;  // 0: never

  bool is(Op op) const { return node->is(op); }
};

// Sources of a loop-like node that are its ranges.
std::span<State* const> ranges_of(const State& state) {
  const std::span<State* const> sources = state.sources;
  switch (state.node->op) {
    case Op::Reduce:
    case Op::Stage:
      return sources.subspan(1);
    case Op::Store:
      return sources.subspan(2);
    default:
      return {};
  }
}

class KernelInterpreter {
 public:
  explicit KernelInterpreter(const KernelRun& run) : run_(run), memory_(run) {}

  absl::Status run(UOpRef sink) {
    if (!sink->is(Op::Sink)) return absl::InvalidArgumentError("reference: a kernel's root is a sink");
    make_states(ir::toposort(sink));
    std::vector<const State*> stored;
    for (const State* store : states_.back().sources) {
      if (!store->is(Op::Store) || !store->sources[0]->is(Op::Index)) {
        return absl::InvalidArgumentError(absl::StrCat("reference: not a store: ", ir::describe(store->node)));
      }
      stored.push_back(store->sources[0]->sources[0]);
    }
    for (State& state : states_) {
      if (ir::is_range(state.node, ir::RangeKind::Invocation)) invocations_.push_back(&state);
    }
    for (State& state : states_) find_dependencies(state, stored);
    for (State* store : states_.back().sources) {
      absl::Status status = loop(ranges_of(*store), 0, [&] { return execute_store(*store); });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // `order`: sources before users, the sink last.
  void make_states(const std::vector<UOpRef>& order) {
    states_.resize(order.size());
    std::unordered_map<UOpRef, State*> state_of;
    for (std::size_t i = 0; i < order.size(); ++i) {
      State& state = states_[i];
      state.node = order[i];
      for (UOpRef source : order[i]->sources) state.sources.push_back(state_of.at(source));
      state_of.emplace(order[i], &state);
    }
  }

  void find_dependencies(State& state, const std::vector<const State*>& stored) const {
    std::vector<State*>& result = state.depends_on;
    const auto add = [&](State* dependency) {
      if (std::ranges::find(result, dependency) == result.end()) result.push_back(dependency);
    };
    for (const State* source : state.sources) {
      for (State* dependency : source->depends_on) add(dependency);
    }
    // An invocation has its own elements of a matrix that a subgroup loads from one place.
    if (state.is(Op::Load) && std::holds_alternative<ir::MatrixAccess>(state.node->payload)) {
      for (State* invocation : invocations_) add(invocation);
    }
    for (State* range : ranges_of(state)) std::erase(result, range);
    const bool memory = state.is(Op::Param) || state.is(Op::Allocate);
    if (state.is(Op::Range) || (memory && std::ranges::find(stored, &state) != stored.end())) add(&state);
  }

  void set_range(State& range, bool bound, std::int64_t value) {
    range.bound = bound;
    range.value = {Element::of_int(value)};
    range.changed_at = ++now_;
  }

  // Runs `body` for every value of ranges[k..], outermost first.
  absl::Status loop(std::span<State* const> ranges, std::size_t k, absl::FunctionRef<absl::Status()> body) {
    if (k == ranges.size()) return body();
    State& range = *ranges[k];
    if (!range.is(Op::Range))
      return absl::InvalidArgumentError(absl::StrCat("reference: not a range: ", ir::describe(range.node)));
    if (range.bound)
      return absl::InvalidArgumentError(absl::StrCat("reference: nested twice: ", ir::describe(range.node)));
    HEARTH_ASSIGN_OR_RETURN(Value size, value_of(*range.sources[0]));
    std::int64_t begin = 0, end = size[0].i;
    if (run_.grid && range.node->as<ir::RangeInfo>().kind == ir::RangeKind::Grid) {
      begin = run_.grid->begin;
      end = std::min(end, run_.grid->end);
    }
    absl::Status status;
    for (std::int64_t value = begin; value < end && status.ok(); ++value) {
      set_range(range, true, value);
      status = loop(ranges, k + 1, body);
    }
    set_range(range, false, 0);
    return status;
  }

  absl::Status execute_store(State& store) {
    State& index = *store.sources[0];
    HEARTH_ASSIGN_OR_RETURN(Value value, value_of(*store.sources[1]));
    HEARTH_ASSIGN_OR_RETURN(Access access, access_of(index));
    HEARTH_RETURN_IF_ERROR(spread(store, access));
    index.sources[0]->changed_at = ++now_;
    return memory_.store(index.sources[0]->node, store.sources[1]->node->dtype, access.index, access.gate, value,
                         index.node, access.instance);
  }

  struct Access {
    Value index;
    Value gate = {Element::of_int(1)};
    KernelMemory::Instance instance;  // of an Allocate
  };
  // Index(param, i[, gate]).
  absl::StatusOr<Access> access_of(State& index) {
    const std::size_t count = index.sources.size();
    if (count < 2 || count > 3 || (count == 3 && !ir::is_bool(index.sources[2]->node->dtype))) {
      return absl::InvalidArgumentError(
          absl::StrCat("reference: a param takes one index and a gate: ", ir::describe(index.node)));
    }
    Access access;
    if (count == 3) {
      HEARTH_ASSIGN_OR_RETURN(Value gate, value_of(*index.sources[2]));
      access.gate = std::move(gate);
    }
    HEARTH_ASSIGN_OR_RETURN(Value position, value_of(*index.sources[1]));
    access.index = std::move(position);
    if (index.sources[0]->is(Op::Allocate)) {
      for (State* source : index.sources[0]->sources) {
        HEARTH_ASSIGN_OR_RETURN(Value value, value_of(*source));
        access.instance.push_back(value[0].i);
      }
    }
    return access;
  }

  // Turns the access of a matrix into the elements that the invocation holds.
  absl::Status spread(const State& state, Access& access) const {
    const auto* const matrix = std::get_if<ir::MatrixAccess>(&state.node->payload);
    if (!matrix) return absl::OkStatus();
    const State* const invocation = bound_invocation();
    if (!invocation) return absl::InvalidArgumentError("reference: a subgroup's matrix outside of a workgroup");
    access.index = fragment_positions(*matrix, access.index[0].i, invocation->value[0].i);
    return absl::OkStatus();
  }

  // The number in its workgroup of the invocation whose code runs; null: none does.
  State* bound_invocation() const {
    const auto found = std::ranges::find_if(invocations_, [](const State* s) { return s->bound; });
    return found == invocations_.end() ? nullptr : *found;
  }

  absl::StatusOr<Value> load(State& load) {
    State& index = *load.sources[0];
    if (!index.is(Op::Index))
      return absl::InvalidArgumentError(absl::StrCat("reference: load of ", ir::describe(index.node)));
    Value alternative = {Element{}};
    if (load.sources.size() == 2) {
      HEARTH_ASSIGN_OR_RETURN(Value given, value_of(*load.sources[1]));
      alternative = std::move(given);
    }
    if (index.sources[0]->is(Op::Stage)) return read_stage(index, alternative);
    HEARTH_ASSIGN_OR_RETURN(Access access, access_of(index));
    HEARTH_RETURN_IF_ERROR(spread(load, access));
    return memory_.load(index.sources[0]->node, load.node->dtype, access.index, access.gate, alternative, index.node,
                        access.instance);
  }

  // Index(stage(value, ranges...), one index a range...[, gate]): the value at those range values.
  absl::StatusOr<Value> read_stage(State& index, const Value& alternative) {
    State& stage = *index.sources[0];
    const std::span<State* const> ranges = ranges_of(stage);
    if (index.sources.size() > ranges.size() + 1) {
      HEARTH_ASSIGN_OR_RETURN(Value gate, value_of(*index.sources.back()));
      if (gate[0].i == 0) return alternative;
    }
    std::vector<std::int64_t> wanted;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      HEARTH_ASSIGN_OR_RETURN(Value position, value_of(*index.sources[1 + k]));
      HEARTH_ASSIGN_OR_RETURN(Value size, value_of(*ranges[k]->sources[0]));
      wanted.push_back(position[0].i);
      if (wanted[k] < 0 || wanted[k] >= size[0].i) {
        return absl::OutOfRangeError(absl::StrCat("reference: index ", wanted[k], " of axis ", k,
                                                  " of a stage with length ", size[0].i, ": ",
                                                  ir::describe(index.node, 6)));
      }
    }
    std::vector<std::pair<bool, std::int64_t>> saved;
    for (const State* range : ranges) saved.emplace_back(range->bound, range->bound ? range->value[0].i : 0);
    for (std::size_t k = 0; k < ranges.size(); ++k) set_range(*ranges[k], true, wanted[k]);
    absl::StatusOr<Value> result = value_of(*stage.sources[0]);
    for (std::size_t k = 0; k < ranges.size(); ++k) set_range(*ranges[k], saved[k].first, saved[k].second);
    return result;
  }

  // A wmma of a subgroup: what its other invocations have is computed for this one.
  absl::StatusOr<Value> multiply(State& state) {
    State* const running = bound_invocation();
    if (!running) return absl::InvalidArgumentError("reference: a subgroup's product outside of a workgroup");
    State& invocation = *running;
    const std::int64_t own = invocation.value[0].i, size = ir::shape_of(state.node->as<ir::WmmaInfo>()).subgroup;
    // The other invocations' values are kept while what they were computed from is the same.
    std::vector<std::int64_t> known = {own / size};
    for (const State* dependency : state.depends_on) {
      if (ir::is_range(dependency->node, ir::RangeKind::Invocation)) continue;
      known.push_back(dependency->is(Op::Range) ? dependency->value[0].i
                                                : static_cast<std::int64_t>(dependency->changed_at));
    }
    std::map<std::vector<std::int64_t>, std::vector<Value>>& kept = products_[&state];
    if (const auto before = kept.find(known); before != kept.end())
      return before->second[static_cast<std::size_t>(own % size)];
    std::vector<SubgroupOperands> operands;
    absl::Status status;
    for (std::int64_t i = 0; i < size && status.ok(); ++i) {
      set_range(invocation, true, own / size * size + i);
      const absl::StatusOr<Value> a = value_of(*state.sources[0]), b = value_of(*state.sources[1]);
      status = a.ok() ? b.status() : a.status();
      if (status.ok()) operands.push_back({*a, *b});
    }
    set_range(invocation, true, own);
    HEARTH_RETURN_IF_ERROR(status);
    HEARTH_ASSIGN_OR_RETURN(std::vector<Value> products, subgroup_products(state.node, operands));
    if (kept.size() >= kMostKept) kept.clear();
    return kept.emplace(known, std::move(products)).first->second[static_cast<std::size_t>(own % size)];
  }

  absl::StatusOr<Value> reduce(State& state) {
    const ir::ReduceKind kind = state.node->as<ir::ReduceInfo>().kind;
    const ir::Scalar scalar = state.node->dtype.scalar;
    Value accumulator(state.node->dtype.lanes, reduce_identity(kind, scalar));
    absl::Status status = loop(ranges_of(state), 0, [&]() -> absl::Status {
      HEARTH_ASSIGN_OR_RETURN(Value value, value_of(*state.sources[0]));
      for (std::size_t lane = 0; lane < accumulator.size(); ++lane) {
        accumulator[lane] = reduce_step(kind, accumulator_scalar(scalar), accumulator[lane], value[lane]);
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    for (Element& lane : accumulator) lane = normalize(scalar, lane);
    return accumulator;
  }

  // The node's value now; computed again only when something it depends on has changed. A copy: a stage that is read
  // later at other range values computes the same node again.
  absl::StatusOr<Value> value_of(State& state) {
    if (state.is(Op::Range)) {
      if (state.bound) return state.value;
      return absl::InvalidArgumentError(absl::StrCat("reference: used outside its loop: ", ir::describe(state.node)));
    }
    const bool fresh = state.computed_at != 0 && std::ranges::all_of(state.depends_on, [&](const State* dependency) {
                         return dependency->changed_at <= state.computed_at;
                       });
    if (fresh) return state.value;
    if (++depth_ > kMaxDepth) return absl::ResourceExhaustedError("reference: expression is nested too deeply");
    absl::StatusOr<Value> value = compute(state);
    --depth_;
    if (!value.ok()) return value;
    state.value = *value;
    state.computed_at = ++now_;
    return value;
  }

  absl::StatusOr<Value> compute(State& state) {
    switch (state.node->op) {
      case Op::Var: {
        HEARTH_ASSIGN_OR_RETURN(std::int64_t value, memory_.variable(state.node));
        return Value{Element::of_int(value)};
      }
      case Op::Load:
        return load(state);
      case Op::Reduce:
        return reduce(state);
      case Op::Wmma:
        if (state.node->as<ir::WmmaInfo>().layout != ir::MatrixLayout::Whole) return multiply(state);
        break;
      case Op::Index:
        if (state.sources[0]->is(Op::Stage)) return read_stage(state, {Element{}});
        break;
      default:
        break;
    }
    absl::InlinedVector<Value, 3> values;
    for (State* source : state.sources) {
      HEARTH_ASSIGN_OR_RETURN(Value value, value_of(*source));
      values.push_back(std::move(value));
    }
    absl::InlinedVector<const Value*, 3> sources;
    for (const Value& value : values) sources.push_back(&value);
    absl::StatusOr<Value> result = evaluate_lanes(state.node, sources);
    if (result.ok()) return result;
    return absl::Status(result.status().code(),
                        absl::StrCat(result.status().message(), " at ", ir::describe(state.node, 4)));
  }

  const KernelRun& run_;
  KernelMemory memory_;
  std::vector<State*> invocations_;
  std::vector<State> states_;  // sources before users; never resized once made, so pointers into it hold
  std::unordered_map<const State*, std::map<std::vector<std::int64_t>, std::vector<Value>>> products_;  // see multiply
  std::uint64_t now_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status interpret_kernel(UOpRef sink, const KernelRun& run) { return KernelInterpreter(run).run(sink); }

}  // namespace hearth::codegen::reference
