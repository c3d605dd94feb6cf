#include "compiler/schedule/flat_kernel.h"

#include <algorithm>

#include "compiler/ir/renumber.h"
#include "compiler/ir/text.h"
#include "fmt/format.h"

namespace hearth::schedule {

FlatKernel::FlatKernel(ir::Graph& graph, ir::UOpRef kernel, const std::vector<SlotFacts>& slots, bool may_pack) {
  ir::Renumbered renumbered = ir::renumber(graph, kernel);
  wire_.set_ast(ir::print(renumbered.root));
  wire_.set_may_pack(may_pack);
  for (std::uint32_t own : renumbered.slots) {
    const SlotFacts facts = own < slots.size() ? slots[own] : SlotFacts{};
    v1::FlatKernel::Slot& slot = *wire_.add_slots();
    slot.set_once(facts.once);
    slot.set_constant_shape(facts.constant_shape);
  }
  axes_ = std::move(renumbered.axes);
  slots_ = std::move(renumbered.slots);
  digest_ = digest_of(wire_);
}

std::vector<Opt> FlatKernel::canonical(const std::vector<Opt>& opts) const {
  auto inverse = [](const Numbers& numbers) {
    Numbers out(1, UINT32_MAX);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= out.size()) out.resize(numbers[i] + 1, UINT32_MAX);
      out[numbers[i]] = i;
    }
    return out;
  };
  return translated(opts, inverse(axes_), inverse(slots_));
}

std::vector<Opt> FlatKernel::translated(std::vector<Opt> opts, const Numbers& axes, const Numbers& slots) {
  // What is not there becomes a number that check_opts finds nowhere.
  auto number = [](const Numbers& in, std::int64_t from) {
    return from >= 0 && from < static_cast<std::int64_t>(in.size()) ? in[static_cast<std::size_t>(from)] : UINT32_MAX;
  };
  for (Opt& opt : opts) {
    opt.axis = number(opt.kind == Opt::Kind::Pack ? slots : axes, opt.axis);
    if (opt.kind == Opt::Kind::Before) opt.amount = number(axes, opt.amount);
  }
  return opts;
}

Digest digest_of(const v1::FlatKernel& kernel) {
  std::string text = fmt::format("hearth.flat_kernel.v1 {} {}", kernel.ast().size(), kernel.ast());
  for (const v1::FlatKernel::Slot& slot : kernel.slots())
    text += fmt::format(" {}{}", slot.once() ? 'o' : '-', slot.constant_shape() ? 'c' : '-');
  return sha256(text + (kernel.may_pack() ? " packs" : ""));
}

}  // namespace hearth::schedule
