#include "compiler/passes/ranged/realize_map.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace hearth::passes {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr int kMaxChain = 200;             // ops inlined in a row: bounds recursion and kernel size
constexpr std::size_t kMaxUnpacking = 40;  // nodes of what is computed of packed weights
constexpr double kMinUnpacked = 4;         // times the memory of what is packed
constexpr double kMaxProducts = 16;        // of a number, for which it is unpacked again and again

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

std::optional<double> bytes_of(ir::ShapeCache& shapes, UOpRef x) {
  double bytes = byte_size(x->dtype);
  for (UOpRef length : shapes.of(x)) {
    if (!length->is_const()) return std::nullopt;
    bytes *= static_cast<double>(length->int_value());
  }
  return bytes;
}

// Weights of a few bits in words, and the scales of their blocks: what is computed of them element by element takes
// more than four times their memory.
struct Packed {
  std::vector<UOpRef> operands;  // what is stored
  std::vector<UOpRef> unpacked;  // what is computed of it
};
std::optional<Packed> packed_weights(ir::ShapeCache& shapes, UOpRef x) {
  if (!is_view(x) && !ir::is_elementwise(x->op)) return std::nullopt;
  Packed packed;
  std::vector<UOpRef> work = {x};
  bool has_words = false;
  for (std::size_t i = 0; i < work.size(); ++i) {
    UOpRef node = work[i];
    if (is_view(node) || ir::is_elementwise(node->op)) {
      has_words |= node->is(Op::Shr);
      packed.unpacked.push_back(node);
      for (std::size_t k = 0; k < num_values(node); ++k) {
        if (std::ranges::find(work, node->source(k)) == work.end()) work.push_back(node->source(k));
      }
    } else if (node->is(Op::Contiguous) || node->is(Op::Buffer)) {
      packed.operands.push_back(node);
    } else if (!node->is(Op::Const) && !node->is(Op::Iota)) {
      return std::nullopt;
    }
    if (work.size() > kMaxUnpacking) return std::nullopt;
  }
  const std::optional<double> whole = bytes_of(shapes, x);
  double bytes = 0;
  for (UOpRef operand : packed.operands) bytes += bytes_of(shapes, operand).value_or(INFINITY);
  if (!has_words || !whole || bytes * kMinUnpacked > *whole) return std::nullopt;
  return packed;
}

// Reading less is worth more than a few operations where each number serves a few products, and where they may be few.
bool is_for_few_products(ir::ShapeCache& shapes, UOpRef reader, UOpRef weights) {
  const std::optional<double> products = bytes_of(shapes, reader), numbers = bytes_of(shapes, weights);
  return !products || (numbers && *products <= kMaxProducts * *numbers);
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
  auto force = [&](UOpRef x, UOpRef reader) {
    while (is_view(x)) x = x->source(0);
    const auto packed = is_leaf(x) ? std::nullopt : packed_weights(shapes, x);
    if (packed && is_for_few_products(shapes, reader, x)) {
      for (UOpRef node : packed->unpacked) map.erase(node);
      for (UOpRef operand : packed->operands) {
        if (!is_leaf(operand)) map[operand] = Realize::Forced;
      }
      return;
    }
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
      if (origin.at(node) == Origin::Varying && origin.at(node->source(i)) == Origin::Parameter)
        force(node->source(i), node);
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
