// Work of one evaluation of an op, in units of about one vector instruction: what recomputing costs.
#pragma once
#include "compiler/ir/uop.h"

namespace hearth::schedule {

inline int op_cost(ir::UOpRef x) {
  if (is_index(x->dtype) || x->dtype.scalar == ir::Scalar::Void) return 0;
  if (ir::is_transcendental(x->op)) return x->is(ir::Op::Pow) ? 32 : 16;
  switch (x->op) {
    case ir::Op::Div:
    case ir::Op::Recip:
    case ir::Op::Sqrt:
      return 6;
    case ir::Op::TruncDiv:
    case ir::Op::TruncMod:
    case ir::Op::FloorDiv:
    case ir::Op::FloorMod:
      return 12;
    case ir::Op::Const:
    case ir::Op::Range:
    case ir::Op::Var:
    case ir::Op::Cast:
    case ir::Op::Rounded:
      return 0;
    default:
      return 1;
  }
}

}  // namespace hearth::schedule
