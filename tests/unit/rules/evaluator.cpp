#include "tests/unit/rules/evaluator.h"

#include <limits>

namespace hearth::test {

using ir::DType;
using ir::Op;
using ir::UOpRef;
using Wide = __int128;

namespace {

std::optional<Wide> wrap(DType t, Wide v) {
  if (ir::is_bool(t)) return v & 1;
  if (ir::is_index(t)) {
    if (v < std::numeric_limits<std::int64_t>::min() || v > std::numeric_limits<std::int64_t>::max())
      return std::nullopt;
    return v;
  }
  const Wide size = Wide(1) << ir::bit_width(t);
  Wide low = v % size;
  if (low < 0) low += size;
  return ir::is_signed_int(t) && low >= size / 2 ? low - size : low;
}

Wide quotient(Wide a, Wide b, bool floor) {
  if (b == 0) return 0;
  Wide q = a / b;
  if (floor && q * b != a && (a < 0) != (b < 0)) --q;
  return q;
}

std::optional<Wide> operate(UOpRef node, Wide a, Wide b, Wide c) {
  const DType t = node->dtype, s = node->sources.empty() ? t : node->source(0)->dtype;
  const int bits = ir::bit_width(t);
  switch (node->op) {
    case Op::Neg:
      return wrap(t, -a);
    case Op::Abs:
      return wrap(t, a < 0 ? -a : a);
    case Op::Not:
      return ir::is_bool(t) ? Wide(a == 0) : wrap(t, -a - 1);
    case Op::Add:
      return wrap(t, a + b);
    case Op::Sub:
      return wrap(t, a - b);
    case Op::Mul:
      // Low 128 bits are enough for the wrapping types; an index product is checked.
      if (ir::is_index(t)) {
        Wide product;
        return __builtin_mul_overflow(a, b, &product) ? std::nullopt : wrap(t, product);
      }
      return wrap(t, static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    case Op::TruncDiv:
    case Op::FloorDiv:
      return wrap(t, quotient(a, b, node->op == Op::FloorDiv));
    case Op::TruncMod:
    case Op::FloorMod:
      return b == 0 ? Wide(0) : wrap(t, a - b * quotient(a, b, node->op == Op::FloorMod));
    case Op::Max:
      return a > b ? a : b;
    case Op::Min:
      return a < b ? a : b;
    case Op::And:
      return wrap(t, a & b);
    case Op::Or:
      return wrap(t, a | b);
    case Op::Xor:
      return wrap(t, a ^ b);
    case Op::Shl:
      return b < 0 || b >= bits ? Wide(0) : wrap(t, a * (Wide(1) << int(b)));
    case Op::Shr:
      return b < 0 || b >= bits ? Wide(a < 0 ? -1 : 0) : wrap(t, quotient(a, Wide(1) << int(b), true));
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Where:
      return a != 0 ? b : c;
    case Op::Cast:
      return ir::is_bool(t) ? Wide(a != 0) : wrap(t, a);
    default:
      (void)s;
      return std::nullopt;
  }
}

}  // namespace

std::optional<Wide> evaluate(UOpRef root, const Assignment& leaves) {
  std::unordered_map<UOpRef, Wide> values;
  for (UOpRef node : ir::toposort(root)) {
    std::optional<Wide> value;
    if (auto leaf = leaves.find(node); leaf != leaves.end()) {
      value = ir::is_index(node->dtype) ? Wide(leaf->second) : wrap(node->dtype, leaf->second);
    } else if (node->is_const()) {
      value = wrap(node->dtype, node->int_value());
    } else {
      Wide args[3] = {0, 0, 0};
      for (std::size_t s = 0; s < node->sources.size() && s < 3; ++s) args[s] = values.at(node->source(s));
      value = operate(node, args[0], args[1], args[2]);
    }
    if (!value) return std::nullopt;
    values[node] = *value;
  }
  return values.at(root);
}

}  // namespace hearth::test
