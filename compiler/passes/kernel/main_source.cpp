#include "compiler/passes/kernel/main_source.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/passes/kernel/evaluations.h"
#include "compiler/passes/kernel/kernel_cost.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

struct Share {
  double ops = 0, evaluations = 0;

  bool operator<(const Share& o) const { return std::tie(ops, evaluations) < std::tie(o.ops, o.evaluations); }
};

using Shares = std::map<std::uint32_t, Share>;  // by set of provenance

// Adds what `stage` computes, and the stages that it keeps to itself.
void add_shares(UOpRef stage, Shares& shares) {
  Dependence depends;
  for (UOpRef x : stage_body(stage)) {
    for (UOpRef read : x->sources) {
      if (!read->is(Op::Stage) || !depends.try_emplace(read).second) continue;
      if (read->as<ir::StageInfo>().kept) add_shares(read, shares);
    }
    const double times = evaluations(enter(depends, x));
    if (x->is(Op::Reduce)) close_reduction(depends, x);
    if (is_index(x->dtype)) continue;
    Share& share = shares[x->provenance];
    share.ops += (x->is(Op::Reduce) ? 1 : ops_of(x)) * times;
    share.evaluations += times;
  }
}

}  // namespace

std::string main_source(const ir::Graph& graph, UOpRef stage) {
  Shares by_set;
  by_set[stage->provenance];  // what only moves values has no nodes of its own below
  add_shares(stage, by_set);
  std::map<std::string, Share> by_text;
  for (const auto& [set, share] : by_set) {
    for (const std::string& text : graph.provenance_texts(set)) {
      if (text.rfind("ONNX input ", 0) == 0) continue;
      by_text[text].ops += share.ops;
      by_text[text].evaluations += share.evaluations;
    }
  }
  const auto most = std::max_element(by_text.begin(), by_text.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_text.end() ? "" : most->first;
}

}  // namespace hearth::passes
