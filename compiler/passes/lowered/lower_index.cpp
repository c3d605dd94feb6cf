#include "compiler/passes/lowered/lower_index.h"

#include <unordered_map>

namespace hearth::passes {

using ir::Op;
using ir::UOpRef;

UOpRef lower_index(ir::Graph& g, UOpRef root) {
  std::unordered_map<UOpRef, UOpRef> done;
  std::vector<UOpRef> sources;
  for (UOpRef x : toposort(root)) {
    ir::DType dtype = is_index(x->dtype) ? ir::DType(ir::Scalar::I64, x->dtype.lanes) : x->dtype;
    sources.clear();
    for (UOpRef s : x->sources) sources.push_back(done.at(s));
    if (x->is(Op::Cast) && sources[0]->dtype == dtype) {
      done[x] = sources[0];  // between index and i64
    } else {
      done[x] = g.make(x->op, dtype, sources, x->payload);
    }
  }
  return done.at(root);
}

}  // namespace hearth::passes
