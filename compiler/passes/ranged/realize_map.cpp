#include "compiler/passes/ranged/realize_map.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kMaxChain = 200;  // ops inlined in a row: bounds recursion and kernel size

bool is_leaf(UOpRef x) { return ir::op_class(x->op) == ir::OpClass::Leaf; }
bool is_view(UOpRef x) {  // moves elements without choosing between sources
  return x->is(Op::Reshape) || x->is(Op::Expand) || x->is(Op::Permute) || x->is(Op::Shrink) || x->is(Op::Flip) ||
         x->is(Op::Unfold);
}
// A cast into the dtype in which products of the narrow one are summed: free for a matrix unit, nearly so for others,
// while what it makes takes twice or four times the memory.
bool is_operand_cast(UOpRef x) {
  return x->is(Op::Cast) && ir::wmma_result(x->source(0)->dtype.scalar, x->source(0)->dtype.scalar) == x->dtype.scalar;
}
// A cast of int8 weights into the f32 that they are multiplied as: likewise.
bool is_weight_cast(UOpRef x) {
  return x->is(Op::Cast) && x->source(0)->dtype == ir::Scalar::I8 && x->dtype == ir::Scalar::F32;
}
// Element by element, from one source or several.
bool is_computed(UOpRef x) {
  return ir::is_elementwise(x->op) || x->is(Op::Cat) || x->is(Op::Pad) || x->is(Op::Gather);
}
bool reads_repeatedly(UOpRef x) { return x->is(Op::Expand) || x->is(Op::Unfold); }
// Sources that are values (not dims).
std::size_t num_values(UOpRef x) {
  switch (x->op) {
    case Op::Buffer:
    case Op::Iota:
      return 0;
    case Op::Reshape:
    case Op::Expand:
    case Op::Pad:
    case Op::Shrink:
    case Op::Unfold:
      return 1;
    case Op::Blob:
    case Op::Loop:
    case Op::Scatter:
      return num_operands(x);
    default:
      return x->sources.size();
  }
}

// Depends on parameters (and constants) only, and on at least one parameter.
enum class Origin { Constant, Parameter, Varying };
Origin origin_of(UOpRef x, const absl::flat_hash_map<UOpRef, Origin>& known) {
  if (x->is(Op::Buffer)) {
    switch (x->as<ir::BufferInfo>().kind) {
      case ir::BufferKind::Input:
        return Origin::Varying;
      case ir::BufferKind::Parameter:
        return Origin::Parameter;
      default:
        return Origin::Constant;
    }
  }
  if (x->is(Op::Var) || x->is(Op::Loop)) return Origin::Varying;
  Origin result = Origin::Constant;
  for (UOpRef s : x->sources) result = std::max(result, known.at(s));
  return result;
}

}  // namespace

UOpRef stored_operand(UOpRef x) {
  while (x->is(Op::Reshape)) x = x->source(0);
  return x;
}

RealizeMap realize_map(ir::ShapeCache& shapes, const std::vector<UOpRef>& outputs) {
  RealizeMap map;
  std::vector<UOpRef> order = toposort(outputs);
  absl::flat_hash_map<UOpRef, Origin> origin;
  for (UOpRef node : order) origin[node] = origin_of(node, origin);

  absl::flat_hash_map<UOpRef, int> uses;
  absl::flat_hash_map<UOpRef, bool> repeated;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    UOpRef node = *it;
    bool view = is_view(node);
    for (std::size_t i = 0; i < num_values(node); ++i) {
      UOpRef s = node->source(i);
      uses[s] += view ? std::max(uses[node], 1) : 1;
      repeated[s] |= view && (repeated[node] || reads_repeatedly(node));
    }
  }
  auto force = [&](UOpRef x) {
    while (is_view(x) || is_operand_cast(x) || is_weight_cast(x)) x = x->source(0);
    if (!is_leaf(x)) map[x] = Realize::Forced;
  };
  for (UOpRef node : order) {
    if (node->is(Op::Contiguous)) {
      map[node] = Realize::Forced;
    } else if (is_opaque(node)) {
      map[node] = Realize::Forced;
      for (std::size_t i = 0; i < num_values(node); ++i) {
        if (UOpRef operand = stored_operand(node->source(i)); !operand->is(Op::Buffer)) map[operand] = Realize::Forced;
      }
    } else if (node->is(Op::ReduceAxis)) {
      map[node] = std::max(map[node], Realize::Candidate);
    } else if (is_computed(node)) {
      if (uses[node] > 1 || repeated[node]) map[node] = std::max(map[node], Realize::Candidate);
      // What is padded may be stored without its border: passes/ranged/fuse decides whether that is a condition of the
      // reader.
      if (node->is(Op::Pad) && repeated[node]) {
        UOpRef inside = node->source(0);
        while (is_view(inside)) inside = inside->source(0);
        if (is_computed(inside)) map[inside] = std::max(map[inside], Realize::Candidate);
      }
    }
    // Where parameters meet inputs: compute the parameters' side once, at prepare.
    for (std::size_t i = 0; i < num_values(node); ++i) {
      if (origin.at(node) == Origin::Varying && origin.at(node->source(i)) == Origin::Parameter) force(node->source(i));
    }
  }
  absl::flat_hash_map<UOpRef, int> chain;
  for (UOpRef node : order) {
    int length = 0;
    for (std::size_t i = 0; i < num_values(node); ++i) {
      UOpRef s = node->source(i);
      length = std::max(length, map.contains(s) && map[s] != Realize::No ? 0 : chain[s]);
    }
    chain[node] = length + 1;
    if (length + 1 >= kMaxChain && !is_leaf(node)) map[node] = Realize::Forced;
  }
  return map;
}

}  // namespace hearth::passes
