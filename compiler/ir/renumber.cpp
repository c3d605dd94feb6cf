#include "compiler/ir/renumber.h"
#include "compiler/ir/rebuild.h"

#include <string>
#include <unordered_map>

namespace hearth::ir {

Renumbered renumber(Graph& g, UOpRef kernel) {
  Renumbered out;
  out.slots = {0};
  std::unordered_map<std::uint32_t, std::uint32_t> axes;
  out.root = rebuild(g, kernel, [&](UOpRef x, Sources& sources) -> UOpRef {
    if (x->is(Op::Param)) {
      std::uint32_t slot = x->as<ParamInfo>().slot;
      if (slot != 0) {
        out.slots.push_back(slot);
        slot = static_cast<std::uint32_t>(out.slots.size() - 1);
      }
      return g.make(Op::Param, x->dtype, {}, ParamInfo{slot});
    }
    if (x->is(Op::Var)) {
      const auto& info = x->as<VarInfo>();
      const auto slot = static_cast<std::uint32_t>(out.vars.size());
      out.vars.push_back(info.slot);
      return g.var("v" + std::to_string(slot), info.min, info.max, slot);
    }
    if (!x->is(Op::Range)) return nullptr;
    const auto& info = x->as<RangeInfo>();
    const auto [axis, added] = axes.emplace(info.axis, static_cast<std::uint32_t>(axes.size()));
    if (added) out.axes.push_back(info.axis);
    return g.range(sources[0], axis->second, info.kind);
  });
  return out;
}

}  // namespace hearth::ir
