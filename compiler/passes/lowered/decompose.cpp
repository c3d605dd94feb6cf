#include "compiler/passes/lowered/decompose.h"

#include <unordered_map>
#include <vector>

#include "compiler/ir/rebuild.h"
#include "compiler/passes/lowered/decompose_value.h"
#include "compiler/schedule/matrix_units.h"

namespace hearth::passes {

using ir::DType;
using ir::Op;
using ir::Scalar;
using ir::UOpRef;

namespace {

Value lower(Op op, Value x, Value y, bool scaleb) {
  switch (op) {
    case Op::Exp:
      return lower_exp(x, scaleb);
    case Op::Exp2:
      return lower_exp2(x, scaleb);
    case Op::Log:
      return lower_log(x);
    case Op::Log2:
      return lower_log2(x);
    case Op::Sin:
      return lower_sin(x);
    case Op::Cos:
      return lower_cos(x);
    case Op::Tanh:
      return lower_tanh(x, scaleb);
    case Op::Erf:
      return lower_erf(x, scaleb);
    case Op::Sigmoid:
      return lower_sigmoid(x, scaleb);
    default:
      return lower_pow(x, y);
  }
}

UOpRef lower_node(ir::Graph& graph, UOpRef node, std::span<const UOpRef> sources, const target::Target& target) {
  const DType dtype = node->dtype;
  bool narrow = dtype.scalar != Scalar::F32 && dtype.scalar != Scalar::F64;
  DType compute = narrow ? DType(Scalar::F32, dtype.lanes) : dtype;
  Value x{&graph, graph.cast(sources[0], compute)};
  Value y = sources.size() > 1 ? Value{&graph, graph.cast(sources[1], compute)} : x;
  const bool scaleb = compute.lanes * ir::bit_width(compute) == 512 && target.has_scaleb();
  return graph.cast(lower(node->op, x, y, scaleb).node, dtype);
}

}  // namespace

UOpRef decompose(ir::Graph& graph, UOpRef root, const target::Target& target) {
  return rebuild(graph, root, [&](UOpRef node, ir::Sources& sources) -> UOpRef {
    const bool decomposes = ir::is_transcendental(node->op) && ir::is_float(node->dtype);
    return decomposes ? lower_node(graph, node, sources, target) : nullptr;
  });
}

}  // namespace hearth::passes
