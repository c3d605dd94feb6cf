// Tensors side by side: cat, stack, repeat_interleave.
#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/movement.h"

namespace hearth::client {

Tensor cat(const std::vector<Tensor>& xs, std::int64_t axis, Loc loc) {
  OpScope scope("cat", loc);
  if (xs.empty()) fail_op("no tensors are given; expected at least one");
  DType dtype = require(xs[0], "xs[0]").dtype();
  axis = normal_axis(axis, xs[0].rank());
  Shape shape = xs[0].shape();
  for (std::size_t i = 1; i < xs.size(); ++i) {
    require(xs[i], str_cat("xs[", i, "]"));
    dtype = promote(dtype, xs[i].dtype());
    bool fit = xs[i].shape().size() == shape.size();
    for (std::size_t k = 0; fit && k < shape.size(); ++k) {
      fit = static_cast<std::int64_t>(k) == axis || xs[i].shape()[k] == shape[k];
    }
    if (!fit) {
      fail_op(str_cat("xs[", i, "] is ", describe(xs[i]), " and xs[0] is ", describe(xs[0]),
                      "; expected equal lengths except along axis ", axis));
    }
    shape[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)] + xs[i].dim(axis);
  }
  if (xs.size() == 1) return xs[0];
  Node node;
  node.op = v1::CAT;
  node.dtype = dtype;
  node.shape = std::move(shape);
  for (const Tensor& x : xs) node.inputs.push_back(cast_to(x, dtype));
  node.axes = {axis};
  return make_node(std::move(node), loc);
}

Tensor stack(const std::vector<Tensor>& xs, std::int64_t axis, Loc loc) {
  OpScope scope("stack", loc);
  std::vector<Tensor> parts;
  for (const Tensor& x : xs) {
    const std::int64_t at = normal_axis(axis, require(x, "xs").rank() + 1);
    parts.push_back(unsqueeze(x, {at}));
  }
  if (parts.empty()) fail_op("no tensors are given; expected at least one");
  return cat(parts, normal_axis(axis, parts[0].rank()));
}

Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::int64_t axis, Loc loc) {
  OpScope scope("repeat_interleave", loc);
  axis = normal_axis(axis, require(x, "x").rank());
  if (repeats < 0) fail_op(str_cat("repeats is ", repeats, "; expected >= 0"));
  Shape result = x.shape();
  result[static_cast<std::size_t>(axis)] = x.dim(axis) * repeats;
  const Tensor spread = unsqueeze(x, {axis + 1});
  Shape grown = spread.shape();
  grown[static_cast<std::size_t>(axis) + 1] = repeats;
  return reshape_to(expand_to(spread, grown), result);
}

}  // namespace hearth::client
