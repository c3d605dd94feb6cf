#include "compiler/codegen/reference/kernel_interpreter.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kMaxDepth = 1500;  // of nested expressions; keeps recursion inside the stack, sanitizers included

// Everything known about one node while the kernel runs.
struct State {
  std::vector<UOpRef> depends_on;  // ranges, and params that the kernel stores to
  std::uint64_t changed_at = 0;    // range, param: when it last changed
  bool bound = false;              // range: inside its loop
  Value value;
  std::uint64_t computed_at = 0;  // 0: never
};

// Sources of a loop-like node that are its ranges.
std::span<const UOpRef> ranges_of(UOpRef node) {
  switch (node->op) {
    case Op::Reduce:
    case Op::Stage:
      return node->sources.subspan(1);
    case Op::Store:
      return node->sources.subspan(2);
    default:
      return {};
  }
}

class KernelInterpreter {
 public:
  explicit KernelInterpreter(const KernelRun& run) : run_(run), memory_(run) {}

  absl::Status run(UOpRef sink) {
    if (!sink->is(Op::Sink)) return absl::InvalidArgumentError("reference: a kernel's root is a sink");
    const std::vector<UOpRef> order = ir::toposort(sink);
    std::vector<UOpRef> stored;
    for (UOpRef store : sink->sources) {
      if (!store->is(Op::Store) || !store->source(0)->is(Op::Index)) {
        return absl::InvalidArgumentError(absl::StrCat("reference: not a store: ", ir::describe(store)));
      }
      stored.push_back(store->source(0)->source(0));
    }
    for (UOpRef node : order) find_dependencies(node, stored);
    for (UOpRef store : sink->sources) {
      absl::Status status = loop(ranges_of(store), 0, [&] { return execute_store(store); });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  void find_dependencies(UOpRef node, const std::vector<UOpRef>& stored) {
    std::vector<UOpRef> result;
    const auto add = [&](UOpRef dependency) {
      if (std::ranges::find(result, dependency) == result.end()) result.push_back(dependency);
    };
    for (UOpRef source : node->sources) {
      for (UOpRef dependency : states_[source].depends_on) add(dependency);
    }
    for (UOpRef range : ranges_of(node)) std::erase(result, range);
    const bool memory = node->is(Op::Param) || node->is(Op::Local);
    if (node->is(Op::Range) || (memory && std::ranges::find(stored, node) != stored.end())) add(node);
    states_[node].depends_on = std::move(result);
  }

  void set_range(UOpRef range, bool bound, std::int64_t value) {
    State& state = states_[range];
    state.bound = bound;
    state.value = {Element::of_int(value)};
    state.changed_at = ++now_;
  }

  // Runs `body` for every value of ranges[k..], outermost first.
  absl::Status loop(std::span<const UOpRef> ranges, std::size_t k, const std::function<absl::Status()>& body) {
    if (k == ranges.size()) return body();
    UOpRef range = ranges[k];
    if (!range->is(Op::Range))
      return absl::InvalidArgumentError(absl::StrCat("reference: not a range: ", ir::describe(range)));
    if (states_[range].bound)
      return absl::InvalidArgumentError(absl::StrCat("reference: nested twice: ", ir::describe(range)));
    absl::StatusOr<Value> size = value_of(range->source(0));
    if (!size.ok()) return size.status();
    std::int64_t begin = 0, end = (*size)[0].i;
    if (run_.grid && range->as<ir::RangeInfo>().kind == ir::RangeKind::Grid) {
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

  absl::Status execute_store(UOpRef store) {
    UOpRef index = store->source(0);
    absl::StatusOr<Value> value = value_of(store->source(1));
    if (!value.ok()) return value.status();
    absl::StatusOr<Access> access = access_of(index);
    if (!access.ok()) return access.status();
    states_[index->source(0)].changed_at = ++now_;
    return memory_.store(index->source(0), store->source(1)->dtype, access->index, access->gate, *value, index,
                         access->instance);
  }

  struct Access {
    Value index;
    Value gate = {Element::of_int(1)};
    KernelMemory::Instance instance;  // of a Local
  };
  // Index(param, i[, gate]).
  absl::StatusOr<Access> access_of(UOpRef index) {
    const std::size_t count = index->sources.size();
    if (count < 2 || count > 3 || (count == 3 && !ir::is_bool(index->source(2)->dtype))) {
      return absl::InvalidArgumentError(
          absl::StrCat("reference: a param takes one index and a gate: ", ir::describe(index)));
    }
    Access access;
    if (count == 3) {
      absl::StatusOr<Value> gate = value_of(index->source(2));
      if (!gate.ok()) return gate.status();
      access.gate = *std::move(gate);
    }
    absl::StatusOr<Value> position = value_of(index->source(1));
    if (!position.ok()) return position.status();
    access.index = *std::move(position);
    if (index->source(0)->is(Op::Local)) {
      for (UOpRef source : index->source(0)->sources) {
        absl::StatusOr<Value> value = value_of(source);
        if (!value.ok()) return value.status();
        access.instance.push_back((*value)[0].i);
      }
    }
    return access;
  }

  absl::StatusOr<Value> load(UOpRef node) {
    UOpRef index = node->source(0);
    if (!index->is(Op::Index))
      return absl::InvalidArgumentError(absl::StrCat("reference: load of ", ir::describe(index)));
    Value alternative = {Element{}};
    if (node->sources.size() == 2) {
      absl::StatusOr<Value> given = value_of(node->source(1));
      if (!given.ok()) return given.status();
      alternative = *std::move(given);
    }
    if (index->source(0)->is(Op::Stage)) return read_stage(index, alternative);
    absl::StatusOr<Access> access = access_of(index);
    if (!access.ok()) return access.status();
    return memory_.load(index->source(0), node->dtype, access->index, access->gate, alternative, index,
                        access->instance);
  }

  // Index(stage(value, ranges...), one index a range...[, gate]): the value at those range values.
  absl::StatusOr<Value> read_stage(UOpRef index, const Value& alternative) {
    UOpRef stage = index->source(0);
    const std::span<const UOpRef> ranges = ranges_of(stage);
    if (index->sources.size() > ranges.size() + 1) {
      absl::StatusOr<Value> gate = value_of(index->sources.back());
      if (!gate.ok()) return gate.status();
      if ((*gate)[0].i == 0) return alternative;
    }
    std::vector<std::int64_t> wanted;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      absl::StatusOr<Value> position = value_of(index->source(1 + k));
      if (!position.ok()) return position.status();
      absl::StatusOr<Value> size = value_of(ranges[k]->source(0));
      if (!size.ok()) return size.status();
      wanted.push_back((*position)[0].i);
      if (wanted[k] < 0 || wanted[k] >= (*size)[0].i) {
        return absl::OutOfRangeError(absl::StrCat("reference: index ", wanted[k], " of axis ", k,
                                                  " of a stage with length ", (*size)[0].i, ": ",
                                                  ir::describe(index, 6)));
      }
    }
    std::vector<std::pair<bool, std::int64_t>> saved;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const State& state = states_[ranges[k]];
      saved.emplace_back(state.bound, state.bound ? state.value[0].i : 0);
    }
    for (std::size_t k = 0; k < ranges.size(); ++k) set_range(ranges[k], true, wanted[k]);
    absl::StatusOr<Value> result = value_of(stage->source(0));
    for (std::size_t k = 0; k < ranges.size(); ++k) set_range(ranges[k], saved[k].first, saved[k].second);
    return result;
  }

  absl::StatusOr<Value> reduce(UOpRef node) {
    const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
    const ir::Scalar scalar = node->dtype.scalar;
    Value accumulator(node->dtype.lanes, reduce_identity(kind, scalar));
    absl::Status status = loop(ranges_of(node), 0, [&]() -> absl::Status {
      absl::StatusOr<Value> value = value_of(node->source(0));
      if (!value.ok()) return value.status();
      for (std::size_t lane = 0; lane < accumulator.size(); ++lane) {
        accumulator[lane] = reduce_step(kind, accumulator_scalar(scalar), accumulator[lane], (*value)[lane]);
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    for (Element& lane : accumulator) lane = normalize(scalar, lane);
    return accumulator;
  }

  // The node's value now; computed again only when something it depends on has changed.
  absl::StatusOr<Value> value_of(UOpRef node) {
    State& state = states_[node];
    if (node->is(Op::Range)) {
      if (state.bound) return state.value;
      return absl::InvalidArgumentError(absl::StrCat("reference: used outside its loop: ", ir::describe(node)));
    }
    const bool fresh = state.computed_at != 0 && std::ranges::all_of(state.depends_on, [&](UOpRef dependency) {
                         return states_[dependency].changed_at <= state.computed_at;
                       });
    if (fresh) return state.value;
    if (++depth_ > kMaxDepth) return absl::ResourceExhaustedError("reference: expression is nested too deeply");
    absl::StatusOr<Value> value = compute(node);
    --depth_;
    if (!value.ok()) return value;
    state.value = *value;
    state.computed_at = ++now_;
    return value;
  }

  absl::StatusOr<Value> compute(UOpRef node) {
    switch (node->op) {
      case Op::Var: {
        absl::StatusOr<std::int64_t> value = memory_.variable(node);
        if (!value.ok()) return value.status();
        return Value{Element::of_int(*value)};
      }
      case Op::Load:
        return load(node);
      case Op::Reduce:
        return reduce(node);
      case Op::Index:
        if (node->source(0)->is(Op::Stage)) return read_stage(node, {Element{}});
        break;
      default:
        break;
    }
    std::vector<Value> values;
    for (UOpRef source : node->sources) {
      absl::StatusOr<Value> value = value_of(source);
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    std::vector<const Value*> sources;
    for (const Value& value : values) sources.push_back(&value);
    absl::StatusOr<Value> result = evaluate_lanes(node, sources);
    if (result.ok()) return result;
    return absl::Status(result.status().code(), absl::StrCat(result.status().message(), " at ", ir::describe(node, 4)));
  }

  const KernelRun& run_;
  KernelMemory memory_;
  std::unordered_map<UOpRef, State> states_;  // looked up, never iterated
  std::uint64_t now_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status interpret_kernel(UOpRef sink, const KernelRun& run) { return KernelInterpreter(run).run(sink); }

}  // namespace hearth::codegen::reference
