#include "compiler/ir/uop.h"

#include <bit>

namespace hearth::ir {
namespace {

struct OpRow {
  std::string_view name;
  int min_sources;
  int max_sources;
  OpClass cls;
};
constexpr OpRow kOps[] = {
#define OP(name, text, min, max, cls) {text, min, max, OpClass::cls},
#include "compiler/ir/ops.def"
};
const OpRow& row(Op op) { return kOps[static_cast<int>(op)]; }

}  // namespace

MatrixShape shape_of(const WmmaInfo& info) {
  if (info.layout != MatrixLayout::Cooperative) return shape_of(info.layout);
  const auto size = [](std::uint16_t value) { return static_cast<std::uint8_t>(value); };
  return cooperative_shape(size(info.m), size(info.n), size(info.k), size(info.subgroup));
}

std::string_view op_name(Op op) { return row(op).name; }
OpClass op_class(Op op) { return row(op).cls; }
int min_sources(Op op) { return row(op).min_sources; }
int max_sources(Op op) { return row(op).max_sources; }

bool is_elementwise(Op op) {
  switch (op_class(op)) {
    case OpClass::Unary:
    case OpClass::Binary:
    case OpClass::Compare:
    case OpClass::Ternary:
    case OpClass::Convert:
      return true;
    default:
      return false;
  }
}

bool is_commutative(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Mul:
    case Op::Max:
    case Op::Min:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Eq:
    case Op::Ne:
      return true;
    default:
      return false;
  }
}

bool is_transcendental(Op op) {
  switch (op) {
    case Op::Exp:
    case Op::Exp2:
    case Op::Log:
    case Op::Log2:
    case Op::Sin:
    case Op::Cos:
    case Op::Tanh:
    case Op::Erf:
    case Op::Sigmoid:
    case Op::Pow:
      return true;
    default:
      return false;
  }
}

bool ConstValue::operator==(const ConstValue& other) const {
  return is_float == other.is_float && i == other.i &&
         std::bit_cast<std::uint64_t>(f) == std::bit_cast<std::uint64_t>(other.f);
}

std::size_t num_operands(UOpRef opaque) {
  if (opaque->is(Op::Scatter)) return 3;
  return opaque->is(Op::Blob) ? opaque->as<BlobInfo>().num_values : opaque->as<LoopInfo>().num_values;
}

bool AttentionInfo::operator==(const AttentionInfo& other) const {
  return causal == other.causal && past == other.past &&
         std::bit_cast<std::uint64_t>(scale) == std::bit_cast<std::uint64_t>(other.scale);
}

}  // namespace hearth::ir
