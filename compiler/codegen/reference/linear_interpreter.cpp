#include "compiler/codegen/reference/linear_interpreter.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::UOpRef;

class LinearInterpreter {
 public:
  LinearInterpreter(std::span<const UOpRef> body, const KernelRun& run) : body_(body), run_(run), memory_(run) {}

  absl::Status run() {
    absl::Status nested = match_loops();
    if (!nested.ok()) return nested;
    for (std::size_t at = 0; at < body_.size();) {
      absl::StatusOr<std::size_t> next = step(at);
      if (!next.ok()) {
        return absl::Status(next.status().code(),
                            absl::StrCat(next.status().message(), " in line ", at, ": ", ir::describe(body_[at])));
      }
      at = *next;
    }
    return absl::OkStatus();
  }

 private:
  // Finds every range's end and checks that loops nest.
  absl::Status match_loops() {
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < body_.size(); ++at) {
      if (!position_.emplace(body_[at], at).second) {
        return absl::InvalidArgumentError(absl::StrCat("reference: listed twice: ", ir::describe(body_[at])));
      }
      if (body_[at]->is(Op::Range)) open.push_back(at);
      if (!body_[at]->is(Op::End)) continue;
      if (open.empty() || body_[open.back()] != body_[at]->source(0)) {
        return absl::InvalidArgumentError(absl::StrCat("reference: loops do not nest at line ", at));
      }
      end_[open.back()] = at;
      open.pop_back();
    }
    return open.empty() ? absl::OkStatus() : absl::InvalidArgumentError("reference: a range has no end");
  }

  absl::StatusOr<const Value*> value_of(UOpRef node) const {
    auto found = values_.find(node);
    if (found == values_.end())
      return absl::InvalidArgumentError(absl::StrCat("reference: not computed: ", ir::describe(node)));
    return &found->second;
  }

  // Values computed in a loop's body are gone when the loop is left or starts again.
  void forget_body(std::size_t range) {
    for (std::size_t at = range + 1; at < end_.at(range); ++at) values_.erase(body_[at]);
  }

  absl::StatusOr<std::size_t> enter(std::size_t at) {
    absl::StatusOr<const Value*> size = value_of(body_[at]->source(0));
    if (!size.ok()) return size.status();
    std::int64_t begin = 0, limit = (**size)[0].i;
    if (run_.grid && body_[at]->as<ir::RangeInfo>().kind == ir::RangeKind::Grid) {
      begin = run_.grid->begin;
      limit = run_.grid->end;
    }
    limit_[at] = limit;
    if (begin >= limit) {
      values_[body_[end_.at(at)]] = {};
      return end_.at(at) + 1;
    }
    values_[body_[at]] = {Element::of_int(begin)};
    return at + 1;
  }

  absl::StatusOr<std::size_t> repeat(std::size_t at) {
    const std::size_t range = position_.at(body_[at]->source(0));
    forget_body(range);
    Element& counter = values_[body_[range]][0];
    if (++counter.i < limit_.at(range)) return range + 1;
    values_.erase(body_[range]);
    values_[body_[at]] = {};
    return at + 1;
  }

  // Index, gate (true if absent) of index(param, i[, gate]).
  absl::Status read_index(UOpRef index, Value* position, Value* gate) const {
    if (!index->is(Op::Index) || index->sources.size() > 3)
      return absl::InvalidArgumentError("reference: not index(param, i, gate)");
    absl::StatusOr<const Value*> i = value_of(index->source(1));
    if (!i.ok()) return i.status();
    *position = **i;
    *gate = {Element::of_int(1)};
    if (index->sources.size() == 3) {
      absl::StatusOr<const Value*> g = value_of(index->source(2));
      if (!g.ok()) return g.status();
      *gate = **g;
    }
    return absl::OkStatus();
  }

  // Values of a Local's sources.
  absl::StatusOr<KernelMemory::Instance> instance_of(UOpRef memory) const {
    KernelMemory::Instance instance;
    if (!memory->is(Op::Local)) return instance;
    for (UOpRef source : memory->sources) {
      absl::StatusOr<const Value*> value = value_of(source);
      if (!value.ok()) return value.status();
      instance.push_back((**value)[0].i);
    }
    return instance;
  }

  absl::StatusOr<Value> load(UOpRef node) {
    Value position, gate, alternative = {Element{}};
    absl::Status status = read_index(node->source(0), &position, &gate);
    if (!status.ok()) return status;
    if (node->sources.size() == 2) {
      absl::StatusOr<const Value*> given = value_of(node->source(1));
      if (!given.ok()) return given.status();
      alternative = **given;
    }
    absl::StatusOr<KernelMemory::Instance> instance = instance_of(node->source(0)->source(0));
    if (!instance.ok()) return instance.status();
    return memory_.load(node->source(0)->source(0), node->dtype, position, gate, alternative, node->source(0),
                        *instance);
  }

  absl::Status store(UOpRef node) {
    if (node->sources.size() != 2) return absl::InvalidArgumentError("reference: a linear store has no ranges");
    Value position, gate;
    absl::Status status = read_index(node->source(0), &position, &gate);
    if (!status.ok()) return status;
    absl::StatusOr<const Value*> value = value_of(node->source(1));
    if (!value.ok()) return value.status();
    absl::StatusOr<KernelMemory::Instance> instance = instance_of(node->source(0)->source(0));
    if (!instance.ok()) return instance.status();
    return memory_.store(node->source(0)->source(0), node->source(1)->dtype, position, gate, **value, node->source(0),
                         *instance);
  }

  absl::Status update(UOpRef node) {
    UOpRef acc = node->source(0);
    absl::StatusOr<const Value*> value = value_of(node->source(1));
    if (!value.ok()) return value.status();
    auto accumulator = accumulators_.find(acc);
    if (!acc->is(Op::Acc) || accumulator == accumulators_.end())
      return absl::InvalidArgumentError("reference: no such accumulator");
    if (accumulator->second.size() != (*value)->size())
      return absl::InvalidArgumentError("reference: lane counts do not agree");
    const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
    for (std::size_t lane = 0; lane < accumulator->second.size(); ++lane) {
      Element& element = accumulator->second[lane];
      element = reduce_step(kind, acc->dtype.scalar, element, (**value)[lane]);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Value> compute(UOpRef node) {
    std::vector<const Value*> sources;
    for (UOpRef source : node->sources) {
      absl::StatusOr<const Value*> value = value_of(source);
      if (!value.ok()) return value.status();
      sources.push_back(*value);
    }
    if (node->is(Op::Acc)) {
      accumulators_[node] = *sources[0];
      return Value{};
    }
    if (node->is(Op::AccResult)) {
      auto accumulator = accumulators_.find(node->source(0));
      if (accumulator == accumulators_.end()) return absl::InvalidArgumentError("reference: no such accumulator");
      return accumulator->second;
    }
    return evaluate_lanes(node, sources);
  }

  // Executes line `at`; the next line.
  absl::StatusOr<std::size_t> step(std::size_t at) {
    UOpRef node = body_[at];
    absl::StatusOr<Value> value = Value{};
    switch (node->op) {
      case Op::Range:
        return enter(at);
      case Op::End:
        return repeat(at);
      case Op::Param:
      case Op::Local:
      case Op::Index:
      case Op::Sink:
        return at + 1;
      case Op::Store: {
        absl::Status status = store(node);
        if (!status.ok()) return status;
        return at + 1;
      }
      case Op::AccUpdate: {
        absl::Status status = update(node);
        if (!status.ok()) return status;
        return at + 1;
      }
      case Op::Var: {
        absl::StatusOr<std::int64_t> var = memory_.variable(node);
        if (!var.ok()) return var.status();
        value = Value{Element::of_int(*var)};
        break;
      }
      case Op::Load:
        value = load(node);
        break;
      default:
        value = compute(node);
        break;
    }
    if (!value.ok()) return value.status();
    values_[node] = *std::move(value);
    return at + 1;
  }

  std::span<const UOpRef> body_;
  const KernelRun& run_;
  KernelMemory memory_;
  // All looked up, never iterated.
  std::unordered_map<UOpRef, std::size_t> position_;
  std::unordered_map<std::size_t, std::size_t> end_;
  std::unordered_map<std::size_t, std::int64_t> limit_;
  std::unordered_map<UOpRef, Value> values_;
  std::unordered_map<UOpRef, Value> accumulators_;
};

}  // namespace

absl::Status interpret_linear(std::span<const UOpRef> body, const KernelRun& run) {
  return LinearInterpreter(body, run).run();
}

}  // namespace hearth::codegen::reference
