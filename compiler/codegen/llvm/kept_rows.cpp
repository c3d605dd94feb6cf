#include "compiler/codegen/llvm/kept_rows.h"

#include "compiler/ir/affine.h"

namespace hearth::codegen {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMinBytes = 1 << 20;  // of a result: less stays in L2
constexpr std::int64_t kMaxIterations = 8;

// The open loops at every load and store, outermost first.
template <class Visit>
void for_each_access(std::span<const UOpRef> body, Visit visit) {
  std::vector<UOpRef> open;
  for (UOpRef x : body) {
    if (x->is(Op::Range)) open.push_back(x);
    if (x->is(Op::End) && !open.empty()) open.pop_back();
    if ((x->is(Op::Load) || x->is(Op::Store)) && !open.empty()) visit(x, open);
  }
}

bool is_row_store(UOpRef x, const std::vector<UOpRef>& open) {
  if (!x->is(Op::Store) || open.size() < 2) return false;
  UOpRef index = x->source(0), position = index->source(1);
  const ir::DType dtype = x->source(1)->dtype;
  return index->source(0)->is(Op::Param) && index->sources.size() == 3 && index->source(2)->is_const() &&
         position->dtype.lanes == 1 && position->bounds.max >= kMinBytes / byte_size(dtype.element()) &&
         ir::to_affine(position).coefficient_of(open.front()) >= kMinRow;
}

}  // namespace

KeptRows::KeptRows(std::span<const UOpRef> body) {
  std::unordered_map<UOpRef, UOpRef> first;  // keeping loop of each loop around such loops
  for_each_access(body, [&](UOpRef x, const std::vector<UOpRef>& open) {
    if (!x->is(Op::Store) || !x->source(0)->source(0)->is(Op::Allocate)) return;
    loops.insert(open.back());
    if (open.size() > 1) first.emplace(open[open.size() - 2], open.back());
  });
  for_each_access(body, [&](UOpRef x, const std::vector<UOpRef>& open) {
    if (x->is(Op::Load) && loops.contains(open.back())) params_read.insert(x->source(0)->source(0));
    if (!is_row_store(x, open) || loops.contains(open.back())) return;
    const auto keeps = first.find(open[open.size() - 2]);
    if (keeps == first.end()) return;
    UOpRef kept = keeps->second->source(0), stored = open.back()->source(0);
    if (!kept->is_const() || !stored->is_const() || kept->int_value() < 1) return;
    const std::int64_t times = stored->int_value() / kept->int_value();
    if (times < 1 || times > kMaxIterations || stored->int_value() % kept->int_value() != 0) return;
    written[keeps->second].push_back({x, open.back(), times});
  });
}

}  // namespace hearth::codegen
