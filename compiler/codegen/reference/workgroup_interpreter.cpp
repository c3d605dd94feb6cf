#include "compiler/codegen/reference/workgroup_interpreter.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/linear_machine.h"
#include "compiler/codegen/reference/race_log.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::UOpRef;

// Where an invocation stands: at a barrier, or at its end.
struct Stop {
  std::optional<std::size_t> line;
  std::vector<std::int64_t> rounds;
  bool operator==(const Stop&) const = default;
};

class Workgroup {
 public:
  Workgroup(std::span<const UOpRef> body, const WorkgroupRun& how, std::int64_t number, KernelMemory& memory)
      : body_(body), how_(how), number_(number) {
    const GridPart unit{number, number + 1};
    for (std::int64_t i = 0; i < how.invocations; ++i)
      machines_.push_back(std::make_unique<LinearMachine>(body, InvocationPlace{unit, i, how.invocations}, memory));
  }

  absl::Status run(RaceLog& log, std::mt19937_64& random) {
    for (const auto& machine : machines_) HEARTH_RETURN_IF_ERROR(machine->prepare());
    std::vector<std::size_t> order(machines_.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<Stop> stops(machines_.size());
    do {
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        log.enter(number_, static_cast<std::int64_t>(i));
        HEARTH_ASSIGN_OR_RETURN(Stop stop, run_to_barrier(*machines_[i]));
        stops[i] = std::move(stop);
      }
      for (std::size_t i = 1; i < stops.size(); ++i) {
        if (stops[i] != stops[0]) return divergent(stops, i);
      }
      if (stops[0].line && body_[*stops[0].line]->is(Op::Wmma)) {
        HEARTH_RETURN_IF_ERROR(multiply(body_[*stops[0].line]));
      } else if (stops[0].line && body_[*stops[0].line]->is(Op::Exchange)) {
        HEARTH_RETURN_IF_ERROR(exchange(body_[*stops[0].line]));
      } else {
        log.pass_barrier();
      }
    } while (stops[0].line);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Stop> run_to_barrier(LinearMachine& machine) {
    for (;;) {
      HEARTH_ASSIGN_OR_RETURN(const std::optional<std::size_t> line, machine.run());
      const bool is_barrier = line && body_[*line]->is(Op::Barrier);
      if (is_barrier && std::ranges::count(how_.left_out, body_[*line]->as<ir::BarrierInfo>().id) > 0) continue;
      return Stop{line, line ? machine.rounds() : std::vector<std::int64_t>()};
    }
  }

  // Subgroups are as many invocations as the unit's, one after the other.
  absl::Status multiply(UOpRef wmma) {
    const std::size_t size = ir::shape_of(wmma->as<ir::WmmaInfo>()).subgroup;
    if (machines_.size() % size != 0)
      return absl::InvalidArgumentError(absl::StrCat("reference: no workgroup of whole subgroups of ", size));
    for (std::size_t first = 0; first < machines_.size(); first += size) {
      std::vector<SubgroupOperands> operands;
      for (std::size_t i = first; i < first + size; ++i) {
        HEARTH_ASSIGN_OR_RETURN(SubgroupOperands own, machines_[i]->operands());
        operands.push_back(std::move(own));
      }
      HEARTH_ASSIGN_OR_RETURN(std::vector<Value> products, subgroup_products(wmma, operands));
      for (std::size_t i = 0; i < size; ++i) machines_[first + i]->give(std::move(products[i]));
    }
    return absl::OkStatus();
  }

  absl::Status exchange(UOpRef node) {
    const std::size_t mask = node->as<ir::LaneInfo>().lane;
    std::vector<Value> values;
    for (const auto& machine : machines_) {
      HEARTH_ASSIGN_OR_RETURN(SubgroupOperands own, machine->operands());
      values.push_back(std::move(own.a));
    }
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      if ((i ^ mask) >= machines_.size()) return absl::InvalidArgumentError("reference: no such invocation");
      machines_[i]->give(values[i ^ mask]);
    }
    return absl::OkStatus();
  }

  absl::Status divergent(const std::vector<Stop>& stops, std::size_t other) const {
    const auto place = [&](std::size_t i) {
      if (!stops[i].line) return absl::StrCat("invocation ", i, " has ended");
      std::string text = absl::StrCat("invocation ", i, " waits at ", ir::describe(body_[*stops[i].line]));
      for (const std::int64_t round : stops[i].rounds) absl::StrAppend(&text, ", round ", round);
      return text;
    };
    return absl::FailedPreconditionError(
        absl::StrCat("divergent barrier: of workgroup ", number_, " ", place(0), ", and ", place(other)));
  }

  std::span<const UOpRef> body_;
  const WorkgroupRun& how_;
  const std::int64_t number_;
  std::vector<std::unique_ptr<LinearMachine>> machines_;
};

}  // namespace

absl::Status interpret_workgroups(std::span<const UOpRef> body, const KernelRun& run, const WorkgroupRun& how) {
  RaceLog log;
  KernelMemory memory(run, &log);
  std::mt19937_64 random(how.seed);
  std::vector<std::int64_t> order(static_cast<std::size_t>(how.workgroups - how.first));
  std::iota(order.begin(), order.end(), how.first);
  std::ranges::shuffle(order, random);
  for (const std::int64_t number : order) {
    log.begin_workgroup();
    HEARTH_RETURN_IF_ERROR(Workgroup(body, how, number, memory).run(log, random));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::uint32_t>> redundant_barriers(std::span<const UOpRef> body, const KernelRun& run,
                                                              const WorkgroupRun& how) {
  const auto run_without = [&](std::vector<std::uint32_t> left_out) {
    std::vector<HostTensor> buffers(run.buffers.begin(), run.buffers.end());
    WorkgroupRun without = how;
    without.left_out = std::move(left_out);
    return interpret_workgroups(body, {buffers, run.vars, run.grid}, without);
  };
  HEARTH_RETURN_IF_ERROR(run_without({}));
  std::vector<std::uint32_t> redundant;
  for (UOpRef x : body) {
    if (!x->is(Op::Barrier)) continue;
    const std::uint32_t id = x->as<ir::BarrierInfo>().id;
    if (run_without({id}).ok()) redundant.push_back(id);
  }
  return redundant;
}

}  // namespace hearth::codegen::reference
