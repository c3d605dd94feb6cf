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

// The operands of a sum of products before they were cast for it.
std::optional<Product> cast_product(UOpRef reduce) {
  UOpRef value = reduce->source(0);
  if (reduce->as<ir::ReduceInfo>().kind != ir::ReduceKind::Sum || !value->is(Op::Mul)) return std::nullopt;
  UOpRef a = value->source(0), b = value->source(1);
  if (!a->is(Op::Cast) || !b->is(Op::Cast)) return std::nullopt;
  return Product{a->source(0), b->source(0)};
}

}  // namespace

std::optional<Product> narrow_product(UOpRef reduce) {
  const std::optional<Product> product = cast_product(reduce);
  const bool is_summed =
      product && ir::wmma_result(product->a->dtype.scalar, product->b->dtype.scalar) == reduce->dtype.scalar;
  return is_summed ? product : std::nullopt;
}

std::optional<Product> matrix_product(UOpRef reduce) {
  const std::optional<Product> product = cast_product(reduce);
  const bool is_summed =
      product && ir::matrix_result(product->a->dtype.scalar, product->b->dtype.scalar) == reduce->dtype.scalar;
  const auto is_plain = [](UOpRef x) { return x->is(Op::Load) && x->sources.size() == 1; };
  return is_summed && is_plain(product->a) && is_plain(product->b) ? product : std::nullopt;
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
