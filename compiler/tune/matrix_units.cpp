#include "compiler/tune/matrix_units.h"

#include <algorithm>

#include "compiler/ir/shape.h"

namespace hearth::tune {
namespace {

using ir::Op;
using ir::UOpRef;

// Cycles are of a core with two multiply-adds a cycle: Intel's from Golden Cove on, as measured (docs/performance.md),
// AMD's from Zen 4 on, as its optimisation guides say.
constexpr MatrixUnit kBf16Dot = {"bf16 dot", 2, 0.5, 6, 0, 1};
constexpr MatrixUnit kBf16Pairs = {"bf16 pairs", 2, 1, 8, 1, 2};  // shift, mask and two multiply-adds
constexpr MatrixUnit kVnni = {"vnni", 4, 0.5, 5, 0, 1};
constexpr MatrixUnit kVnniOffset = {"vnni with an offset", 4, 1, 6, 0.5, 2};  // operands of one signedness

bool is_plain_load_along(UOpRef x, UOpRef range) {
  if (!x->is(Op::Load) || x->sources.size() != 1) return false;
  const std::vector<UOpRef> below = toposort(x->source(0)->source(1));
  return std::ranges::find(below, range) != below.end();
}

}  // namespace

bool has_feature(const v1::Target& target, std::string_view name) {
  return std::ranges::any_of(target.features(), [&](const std::string& feature) { return feature == name; });
}

bool has_fast_bf16_dot(const v1::Target& target) {
  // Intel's cores with AMX execute it at a quarter of the rate of a multiply-add.
  return has_feature(target, "avx512bf16") && !has_feature(target, "amx-bf16") && !has_feature(target, "avx512fp16");
}

bool has_scaleb(const v1::Target& target) { return target.vector_bits() >= 512 && has_feature(target, "avx512f"); }

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

std::optional<MatrixUnit> vector_unit(UOpRef reduce, const v1::Target& target) {
  const std::optional<Product> product = narrow_product(reduce);
  if (!product) return std::nullopt;
  if (product->a->dtype.scalar == ir::Scalar::BF16) return has_fast_bf16_dot(target) ? kBf16Dot : kBf16Pairs;
  const bool wide = has_feature(target, "avx512vnni") && has_feature(target, "avx512vl");
  if (!wide && !(has_feature(target, "avxvnni") && target.vector_bits() <= 256)) return std::nullopt;
  return product->a->dtype == product->b->dtype ? kVnniOffset : kVnni;
}

}  // namespace hearth::tune
