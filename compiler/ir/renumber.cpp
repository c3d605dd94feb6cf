#include "compiler/ir/renumber.h"

#include <string>
#include <unordered_map>

namespace hearth::ir {

Renumbered renumber(Graph& g, UOpRef kernel) {
  Renumbered out;
  out.slots = {0};
  std::unordered_map<UOpRef, UOpRef> done;
  std::unordered_map<std::uint32_t, std::uint32_t> axes;
  std::vector<UOpRef> sources;
  for (UOpRef x : toposort(kernel)) {
    if (x->is(Op::Param)) {
      std::uint32_t slot = x->as<ParamInfo>().slot;
      if (slot != 0) {
        out.slots.push_back(slot);
        slot = static_cast<std::uint32_t>(out.slots.size() - 1);
      }
      done[x] = g.make(Op::Param, x->dtype, {}, ParamInfo{slot});
    } else if (x->is(Op::Var)) {
      const auto& info = x->as<VarInfo>();
      const auto slot = static_cast<std::uint32_t>(out.vars.size());
      out.vars.push_back(info.slot);
      done[x] = g.var("v" + std::to_string(slot), info.min, info.max, slot);
    } else {
      sources.clear();
      for (UOpRef s : x->sources) sources.push_back(done.at(s));
      if (x->is(Op::Range)) {
        const auto& info = x->as<RangeInfo>();
        const auto [axis, added] = axes.emplace(info.axis, static_cast<std::uint32_t>(axes.size()));
        if (added) out.axes.push_back(info.axis);
        done[x] = g.range(sources[0], axis->second, info.kind);
      } else {
        done[x] = g.with_sources(x, sources);
      }
    }
  }
  out.root = done.at(kernel);
  return out;
}

}  // namespace hearth::ir
