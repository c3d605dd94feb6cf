#include "compiler/codegen/reference/linear_machine.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {

using ir::Op;
using ir::UOpRef;

namespace {

bool is_invocation(UOpRef node) { return ir::is_range(node, ir::RangeKind::Invocation); }

bool is_of_subgroup(UOpRef node) {
  if (node->is(Op::Exchange)) return true;
  return node->is(Op::Wmma) && node->as<ir::WmmaInfo>().layout != ir::MatrixLayout::Whole;
}

}  // namespace

absl::Status LinearMachine::prepare() {
  HEARTH_RETURN_IF_ERROR(read_lines());
  return match_loops();
}

absl::StatusOr<std::optional<std::size_t>> LinearMachine::run() {
  while (next_ < lines_.size()) {
    const std::size_t at = next_;
    if (is_of_subgroup(body_[at]) && !std::exchange(has_product_, false)) return at;
    absl::StatusOr<std::size_t> next = step(lines_[at], at);
    if (!next.ok()) {
      return absl::Status(next.status().code(),
                          absl::StrCat(next.status().message(), " in line ", at, ": ", ir::describe(body_[at])));
    }
    next_ = *next;
    if (body_[at]->is(Op::Barrier)) return at;
  }
  return std::nullopt;
}

absl::StatusOr<SubgroupOperands> LinearMachine::operands() const {
  const Line& line = lines_[next_];
  HEARTH_ASSIGN_OR_RETURN(const Value* a, value_of(line, 0));
  if (line.sources.size() < 2) return SubgroupOperands{*a, {}};
  HEARTH_ASSIGN_OR_RETURN(const Value* b, value_of(line, 1));
  return SubgroupOperands{*a, *b};
}

void LinearMachine::give(Value product) {
  product_ = std::move(product);
  has_product_ = true;
}

std::vector<std::int64_t> LinearMachine::rounds() const {
  std::vector<std::int64_t> rounds;
  for (std::size_t at = 0; at < next_; ++at) {
    const Line& line = lines_[at];
    const bool is_open = line.node->is(Op::Range) && !is_invocation(line.node) && line.computed && line.end >= next_;
    if (is_open) rounds.push_back(line.value[0].i);
  }
  return rounds;
}

absl::Status LinearMachine::read_lines() {
  std::unordered_map<UOpRef, std::size_t> line_of;
  for (std::size_t at = 0; at < body_.size(); ++at) {
    if (!line_of.emplace(body_[at], at).second) {
      return absl::InvalidArgumentError(absl::StrCat("reference: listed twice: ", ir::describe(body_[at])));
    }
  }
  lines_.resize(body_.size());
  for (std::size_t at = 0; at < body_.size(); ++at) {
    lines_[at].node = body_[at];
    for (UOpRef source : body_[at]->sources) {
      auto found = line_of.find(source);
      lines_[at].sources.push_back(found == line_of.end() ? kNoLine : found->second);
    }
  }
  return absl::OkStatus();
}

// Finds every range's end and checks that loops nest.
absl::Status LinearMachine::match_loops() {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < lines_.size(); ++at) {
    if (lines_[at].node->is(Op::Range) && !is_invocation(lines_[at].node)) open.push_back(at);
    if (!lines_[at].node->is(Op::End)) continue;
    if (open.empty() || lines_[at].sources[0] != open.back()) {
      return absl::InvalidArgumentError(absl::StrCat("reference: loops do not nest at line ", at));
    }
    lines_[open.back()].end = at;
    open.pop_back();
  }
  return open.empty() ? absl::OkStatus() : absl::InvalidArgumentError("reference: a range has no end");
}

// The line of source `k`, whether or not it has a value.
absl::StatusOr<LinearMachine::Line*> LinearMachine::source_of(const Line& line, std::size_t k) {
  if (line.sources[k] == kNoLine)
    return absl::InvalidArgumentError(absl::StrCat("reference: not listed: ", ir::describe(line.node->source(k))));
  return &lines_[line.sources[k]];
}

absl::StatusOr<const Value*> LinearMachine::value_of(const Line& line, std::size_t k) const {
  if (line.sources[k] == kNoLine || !lines_[line.sources[k]].computed)
    return absl::InvalidArgumentError(absl::StrCat("reference: not computed: ", ir::describe(line.node->source(k))));
  return &lines_[line.sources[k]].value;
}

void LinearMachine::set(Line& line, Value value) {
  line.value = std::move(value);
  line.computed = true;
}

absl::StatusOr<std::size_t> LinearMachine::enter(Line& line, std::size_t at) {
  HEARTH_ASSIGN_OR_RETURN(const Value* size, value_of(line, 0));
  if (is_invocation(line.node)) {
    if ((*size)[0].i != place_.num_invocations)
      return absl::InvalidArgumentError(absl::StrCat("reference: the kernel has workgroups of ", (*size)[0].i));
    set(line, {Element::of_int(place_.invocation)});
    return at + 1;
  }
  std::int64_t begin = 0, limit = (*size)[0].i;
  if (place_.grid && line.node->as<ir::RangeInfo>().kind == ir::RangeKind::Grid) {
    begin = place_.grid->begin;
    limit = place_.grid->end;
  }
  line.limit = limit;
  if (begin >= limit) {
    set(lines_[line.end], {});
    return line.end + 1;
  }
  set(line, {Element::of_int(begin)});
  return at + 1;
}

// Values computed in a loop's body are gone when the loop is left or starts again.
std::size_t LinearMachine::repeat(Line& end, std::size_t at) {
  const std::size_t range = end.sources[0];
  for (std::size_t inside = range + 1; inside < at; ++inside) lines_[inside].computed = false;
  if (++lines_[range].value[0].i < lines_[range].limit) return range + 1;
  lines_[range].computed = false;
  set(end, {});
  return at + 1;
}

absl::StatusOr<LinearMachine::Access> LinearMachine::access_of(const Line& line) {
  HEARTH_ASSIGN_OR_RETURN(Line * index, source_of(line, 0));
  if (!index->node->is(Op::Index) || index->sources.size() > 3)
    return absl::InvalidArgumentError("reference: not index(param, i, gate)");
  Access access;
  access.memory = index->node->source(0);
  HEARTH_ASSIGN_OR_RETURN(const Value* position, value_of(*index, 1));
  access.position = *position;
  if (const auto* matrix = std::get_if<ir::MatrixAccess>(&line.node->payload))
    access.position = fragment_positions(*matrix, access.first = access.position[0].i, place_.invocation);
  if (index->sources.size() == 3) {
    HEARTH_ASSIGN_OR_RETURN(const Value* gate, value_of(*index, 2));
    access.gate = *gate;
  }
  if (!access.memory->is(Op::Allocate)) return access;
  HEARTH_ASSIGN_OR_RETURN(Line * allocation, source_of(*index, 0));
  for (std::size_t k = 0; k < allocation->sources.size(); ++k) {
    HEARTH_ASSIGN_OR_RETURN(const Value* value, value_of(*allocation, k));
    access.instance.push_back((*value)[0].i);
  }
  return access;
}

absl::StatusOr<Value> LinearMachine::load(const Line& line) {
  HEARTH_ASSIGN_OR_RETURN(Access access, access_of(line));
  Value alternative = {Element{}};
  if (line.sources.size() == 2) {
    HEARTH_ASSIGN_OR_RETURN(const Value* given, value_of(line, 1));
    alternative = *given;
  }
  if (const auto* matrix = std::get_if<ir::MatrixAccess>(&line.node->payload)) {
    const Value all = matrix_positions(*matrix, access.first);
    const auto lanes = static_cast<std::uint16_t>(all.size());
    HEARTH_RETURN_IF_ERROR(memory_
                               .load(access.memory, line.node->dtype.with_lanes(lanes), all, access.gate, alternative,
                                     line.node->source(0), access.instance)
                               .status());
  }
  return memory_.load(access.memory, line.node->dtype, access.position, access.gate, alternative, line.node->source(0),
                      access.instance);
}

absl::Status LinearMachine::store(const Line& line) {
  if (line.sources.size() != 2) return absl::InvalidArgumentError("reference: a linear store has no ranges");
  HEARTH_ASSIGN_OR_RETURN(Access access, access_of(line));
  HEARTH_ASSIGN_OR_RETURN(const Value* value, value_of(line, 1));
  return memory_.store(access.memory, line.node->source(1)->dtype, access.position, access.gate, *value,
                       line.node->source(0), access.instance);
}

absl::StatusOr<Value*> LinearMachine::accumulator_of(const Line& line) {
  absl::StatusOr<Line*> accumulator = source_of(line, 0);
  if (!accumulator.ok() || !(*accumulator)->node->is(Op::Acc) || !(*accumulator)->started)
    return absl::InvalidArgumentError("reference: no such accumulator");
  return &(*accumulator)->accumulated;
}

absl::Status LinearMachine::update(const Line& line) {
  HEARTH_ASSIGN_OR_RETURN(const Value* value, value_of(line, 1));
  HEARTH_ASSIGN_OR_RETURN(Value * accumulator, accumulator_of(line));
  if (accumulator->size() != value->size()) return absl::InvalidArgumentError("reference: lane counts do not agree");
  const ir::ReduceKind kind = line.node->as<ir::ReduceInfo>().kind;
  const ir::Scalar scalar = line.node->source(0)->dtype.scalar;
  for (std::size_t lane = 0; lane < accumulator->size(); ++lane) {
    Element& element = (*accumulator)[lane];
    element = reduce_step(kind, scalar, element, (*value)[lane]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> LinearMachine::compute(Line& line) {
  if (is_of_subgroup(line.node)) return product_;
  absl::InlinedVector<const Value*, 3> sources;
  for (std::size_t k = 0; k < line.sources.size(); ++k) {
    HEARTH_ASSIGN_OR_RETURN(const Value* value, value_of(line, k));
    sources.push_back(value);
  }
  if (line.node->is(Op::Acc)) {
    line.accumulated = *sources[0];
    line.started = true;
    return Value{};
  }
  if (line.node->is(Op::AccResult)) {
    HEARTH_ASSIGN_OR_RETURN(Value * accumulator, accumulator_of(line));
    return *accumulator;
  }
  return evaluate_lanes(line.node, sources);
}

// Executes a line; the next one.
absl::StatusOr<std::size_t> LinearMachine::step(Line& line, std::size_t at) {
  absl::StatusOr<Value> value;
  switch (line.node->op) {
    case Op::Range:
      return enter(line, at);
    case Op::End:
      return repeat(line, at);
    case Op::Param:
    case Op::Allocate:
    case Op::Index:
    case Op::Barrier:
    case Op::Sink:
      return at + 1;
    case Op::Store: {
      absl::Status status = store(line);
      if (!status.ok()) return status;
      return at + 1;
    }
    case Op::AccUpdate: {
      absl::Status status = update(line);
      if (!status.ok()) return status;
      return at + 1;
    }
    case Op::Var: {
      HEARTH_ASSIGN_OR_RETURN(std::int64_t var, memory_.variable(line.node));
      value = Value{Element::of_int(var)};
      break;
    }
    case Op::Load:
      value = load(line);
      break;
    default:
      value = compute(line);
      break;
  }
  HEARTH_RETURN_IF_ERROR(value.status());
  set(line, *std::move(value));
  return at + 1;
}

}  // namespace hearth::codegen::reference
