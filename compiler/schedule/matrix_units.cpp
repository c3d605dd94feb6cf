#include "compiler/schedule/matrix_units.h"

#include <algorithm>

#include "compiler/ir/shape.h"

namespace hearth::schedule {
namespace {

using ir::Op;
using ir::UOpRef;

bool is_plain_load_along(UOpRef x, UOpRef range) {
  if (!x->is(Op::Load) || x->sources.size() != 1) return false;
  const std::vector<UOpRef> below = toposort(x->source(0)->source(1));
  return std::ranges::find(below, range) != below.end();
}

}  // namespace

std::optional<Product> narrow_product(UOpRef reduce) {
  UOpRef value = reduce->source(0);
  if (reduce->as<ir::ReduceInfo>().kind != ir::ReduceKind::Sum || !value->is(Op::Mul)) return std::nullopt;
  UOpRef a = value->source(0), b = value->source(1);
  if (!a->is(Op::Cast) || !b->is(Op::Cast)) return std::nullopt;
  a = a->source(0), b = b->source(0);
  if (ir::wmma_result(a->dtype.scalar, b->dtype.scalar) != value->dtype.scalar) return std::nullopt;
  return Product{a, b};
}

bool is_product_along(UOpRef reduce, UOpRef range) {
  const std::optional<Product> product = narrow_product(reduce);
  return product && is_plain_load_along(product->a, range) && is_plain_load_along(product->b, range);
}

std::optional<target::MatrixUnit> vector_unit(UOpRef reduce, const target::Target& target) {
  const std::optional<Product> product = narrow_product(reduce);
  if (!product) return std::nullopt;
  return target.vector_unit(product->a->dtype.scalar, product->b->dtype.scalar);
}

}  // namespace hearth::schedule
