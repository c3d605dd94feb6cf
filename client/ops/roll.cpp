#include "client/ops/support.h"
#include "hearth/ops/movement.h"

namespace hearth::client {

Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis, Loc loc) {
  OpScope scope("roll", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  const std::int64_t length = const_length(x, axis, "since elements move around its end");
  const std::int64_t moved = length == 0 ? 0 : (shift % length + length) % length;
  if (moved == 0) return x;
  const Tensor front = slice(x, {{.axis = axis, .begin = length - moved}});
  return cat({front, slice(x, {{.axis = axis, .end = length - moved}})}, axis);
}

}  // namespace hearth::client
