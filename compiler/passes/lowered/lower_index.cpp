#include "compiler/passes/lowered/lower_index.h"
#include "compiler/ir/rebuild.h"

#include <unordered_map>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

UOpRef lower_index(ir::Graph& g, UOpRef root) {
  return rebuild(g, root, [&](UOpRef x, ir::Sources& sources) {
    ir::DType dtype = is_index(x->dtype) ? ir::DType(ir::Scalar::I64, x->dtype.lanes) : x->dtype;
    const bool same = x->is(Op::Cast) && sources[0]->dtype == dtype;  // between index and i64
    return same ? sources[0] : g.make(x->op, dtype, sources, x->payload);
  });
}

}  // namespace hearth::passes
