#include "compiler/codegen/reference/race_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

std::string name_of(const TouchedElement& element) {
  const bool is_own = element.memory->is(ir::Op::Allocate);
  return absl::StrCat("element ", element.index, " of ", is_own ? "allocation " : "slot ",
                      is_own ? element.memory->as<ir::AllocationInfo>().id : element.memory->as<ir::ParamInfo>().slot);
}

// What belongs to one invocation alone.
bool is_private(ir::UOpRef memory) {
  return memory->is(ir::Op::Allocate) && std::ranges::any_of(memory->sources, [](ir::UOpRef source) {
           return ir::is_range(source, ir::RangeKind::Invocation);
         });
}

}  // namespace

void RaceLog::begin_workgroup() {
  shared_.clear();
  ++epoch_;
}

absl::Status RaceLog::race(const TouchedElement& element, const Access& before, const Access& now) const {
  const auto of = [](const Access& access) {
    return absl::StrCat(access.is_store ? "stored" : "loaded", " by invocation ", access.who.invocation,
                        " of workgroup ", access.who.workgroup, " (", ir::describe(access.where, 3), ")");
  };
  return absl::FailedPreconditionError(
      absl::StrCat("race: ", name_of(element), " is ", of(before), " and ", of(now), " with no barrier between"));
}

absl::Status RaceLog::touch(const TouchedElement& touched) {
  if (is_private(touched.memory)) return absl::OkStatus();
  const bool is_shared = touched.memory->is(ir::Op::Allocate);
  Element& element = (is_shared ? shared_ : buffers_)[touched.address];
  const Access now{now_, epoch_, touched.where, touched.is_store};
  if (is_shared && !touched.is_store && !element.is_written) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_of(touched), " is loaded by invocation ", now_.invocation,
                     " before anybody has stored it: ", ir::describe(touched.where, 3)));
  }
  if (is_shared) std::erase_if(element.accesses, [&](const Access& access) { return access.epoch != epoch_; });
  for (const Access& before : element.accesses) {
    if (before.who != now_ && (before.is_store || now.is_store)) return race(touched, before, now);
  }
  element.is_written |= touched.is_store;
  const auto same = [&](const Access& access) { return access.who == now_ && access.is_store == now.is_store; };
  if (std::ranges::none_of(element.accesses, same)) element.accesses.push_back(now);
  return absl::OkStatus();
}

}  // namespace hearth::codegen::reference
