#include "compiler/codegen/llvm/lane_offsets.h"

namespace hearth::codegen {

using ir::Op;
using ir::UOpRef;

bool split_lanes(UOpRef position, std::vector<UOpRef>& scalars, std::vector<std::int64_t>& offsets) {
  const std::size_t lanes = position->dtype.lanes;
  offsets.assign(lanes, 0);
  std::vector<std::int64_t> left, right;
  switch (position->op) {
    case Op::Const:
      offsets.assign(lanes, position->int_value());
      return true;
    case Op::Broadcast:
      if (position->source(0)->is_const()) {
        offsets.assign(lanes, position->source(0)->int_value());
      } else {
        scalars.push_back(position->source(0));
      }
      return true;
    case Op::Stack:
      for (std::size_t i = 0; i < lanes; ++i) {
        if (!position->source(i)->is_const()) return false;
        offsets[i] = position->source(i)->int_value();
      }
      return true;
    case Op::Add:
    case Op::Mul: {
      const std::size_t before = scalars.size();
      if (!split_lanes(position->source(0), scalars, left) || !split_lanes(position->source(1), scalars, right))
        return false;
      if (position->op == Op::Mul && scalars.size() != before) return false;
      for (std::size_t i = 0; i < lanes; ++i) {
        const auto a = static_cast<std::uint64_t>(left[i]), b = static_cast<std::uint64_t>(right[i]);
        offsets[i] = static_cast<std::int64_t>(position->op == Op::Add ? a + b : a * b);
      }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace hearth::codegen
