#include "compiler/codegen/reference/graph_interpreter.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/codegen/reference/tensor_ops.h"
#include "compiler/ir/text.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::UOpRef;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;

class GraphInterpreter {
 public:
  GraphInterpreter(const Bindings& bindings, std::span<const std::int64_t> vars) : bindings_(bindings), vars_(vars) {}

  absl::Status run(std::span<const UOpRef> outputs) {
    for (UOpRef node : ir::toposort(outputs)) {
      absl::StatusOr<HostTensor> value = compute(node);
      if (!value.ok()) {
        return absl::Status(value.status().code(), absl::StrCat(value.status().message(), " at ", ir::describe(node)));
      }
      values_.emplace(node, *std::move(value));
    }
    return absl::OkStatus();
  }
  const HostTensor& value(UOpRef node) const { return values_.at(node); }

 private:
  const HostTensor& source(UOpRef node, std::size_t i) const { return value(node->source(i)); }
  std::int64_t scalar(UOpRef node, std::size_t i) const { return source(node, i).get(0).i; }
  // Sources first .. first + count - 1 as integers.
  Dims dims(UOpRef node, std::size_t first, std::size_t count) const {
    Dims result;
    for (std::size_t i = first; i < first + count; ++i) result.push_back(scalar(node, i));
    return result;
  }
  Dims dims_from(UOpRef node, std::size_t first) const { return dims(node, first, node->sources.size() - first); }

  absl::Status check_shape(const Dims& shape) const {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) {
      if (dim < 0) return absl::InvalidArgumentError(absl::StrCat("reference: negative dimension ", dim));
      if (dim != 0 && count > kMaxElements / dim)
        return absl::ResourceExhaustedError("reference: tensor is too large to interpret");
      count *= dim;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<HostTensor> constant(UOpRef node) const {
    const auto& payload = node->as<ir::ConstValue>();
    HostTensor result(node->dtype.scalar, {});
    result.set(0, normalize(node->dtype.scalar, {payload.i, payload.f}));
    return result;
  }

  absl::StatusOr<HostTensor> variable(UOpRef node) const {
    const auto& info = node->as<ir::VarInfo>();
    if (info.slot >= vars_.size())
      return absl::InvalidArgumentError(absl::StrCat("reference: no value for variable ", info.name));
    const std::int64_t value = vars_[info.slot];
    if (value < info.min || value > info.max) {
      return absl::InvalidArgumentError(
          absl::StrCat("reference: ", info.name, " = ", value, " is not in [", info.min, ", ", info.max, "]"));
    }
    HostTensor result(node->dtype.scalar, {});
    result.set(0, Element::of_int(value));
    return result;
  }

  absl::StatusOr<HostTensor> buffer(UOpRef node) const {
    const std::uint32_t id = node->as<ir::BufferInfo>().id;
    auto found = bindings_.find(id);
    if (found == bindings_.end())
      return absl::InvalidArgumentError(absl::StrCat("reference: buffer ", id, " is not bound"));
    const HostTensor& bound = found->second;
    const Dims shape = dims_from(node, 0);
    if (bound.dtype != node->dtype.scalar || bound.shape != shape ||
        bound.bytes.size() != static_cast<std::size_t>(bound.num_elements() * ir::byte_size(bound.dtype))) {
      return absl::InvalidArgumentError(absl::StrCat("reference: buffer ", id, " is ", ir::to_string(node->dtype), " [",
                                                     absl::StrJoin(shape, ", "), "] but ", ir::to_string(bound.dtype),
                                                     " [", absl::StrJoin(bound.shape, ", "), "] is bound to it"));
    }
    return bound;
  }

  absl::StatusOr<HostTensor> elementwise_node(UOpRef node) const {
    std::vector<const HostTensor*> operands;
    for (UOpRef s : node->sources) {
      const HostTensor& operand = value(s);
      if (!operand.shape.empty() && !operands.empty()) {
        for (const HostTensor* other : operands) {
          if (!other->shape.empty() && other->shape != operand.shape)
            return absl::InvalidArgumentError("reference: shapes differ");
        }
      }
      operands.push_back(&operand);
    }
    return elementwise(node->op, node->dtype.scalar, operands);
  }

  absl::StatusOr<HostTensor> movement(UOpRef node) const {
    const std::size_t rank = node->sources.empty() ? 0 : source(node, 0).shape.size();
    switch (node->op) {
      case Op::Reshape: {
        const Dims shape = dims_from(node, 1);
        if (num_elements(shape) != source(node, 0).num_elements()) {
          return absl::InvalidArgumentError("reference: reshape changes the number of elements");
        }
        return reshape(source(node, 0), shape);
      }
      case Op::Expand: {
        const Dims shape = dims_from(node, 1);
        if (shape.size() != rank) return absl::InvalidArgumentError("reference: expand changes the rank");
        for (std::size_t axis = 0; axis < rank; ++axis) {
          const std::int64_t from = source(node, 0).shape[axis];
          if (from != 1 && from != shape[axis])
            return absl::InvalidArgumentError("reference: expand of an axis longer than 1");
        }
        return expand(source(node, 0), shape);
      }
      case Op::Permute:
        return permute(source(node, 0), node->as<ir::Axes>().axes);
      case Op::Pad: {
        const Dims before = dims(node, 2, rank), after = dims(node, 2 + rank, rank);
        if (std::ranges::any_of(before, [](auto v) { return v < 0; }) ||
            std::ranges::any_of(after, [](auto v) { return v < 0; })) {
          return absl::InvalidArgumentError("reference: negative padding");
        }
        return pad(source(node, 0), source(node, 1).get(0), before, after);
      }
      case Op::Shrink: {
        const Dims begin = dims(node, 1, rank), end = dims(node, 1 + rank, rank);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          if (begin[axis] < 0 || begin[axis] > end[axis] || end[axis] > source(node, 0).shape[axis]) {
            return absl::InvalidArgumentError(absl::StrCat("reference: shrink [", begin[axis], ", ", end[axis],
                                                           ") of axis ", axis, " with length ",
                                                           source(node, 0).shape[axis]));
          }
        }
        return shrink(source(node, 0), begin, end);
      }
      case Op::Flip:
        return flip(source(node, 0), node->as<ir::Axes>().axes);
      case Op::Unfold: {
        if (scalar(node, 1) < 1 || scalar(node, 2) < 1 || scalar(node, 3) < 1) {
          return absl::InvalidArgumentError("reference: unfold needs positive size, step and dilation");
        }
        return unfold(source(node, 0), node->as<ir::Axes>().axes[0], scalar(node, 1), scalar(node, 2), scalar(node, 3));
      }
      case Op::Cat: {
        std::vector<const HostTensor*> parts;
        for (UOpRef s : node->sources) parts.push_back(&value(s));
        return cat(parts, node->as<ir::Axes>().axes[0]);
      }
      case Op::Contiguous:
        return source(node, 0);
      case Op::Attention:
        return source(node, 3);
      default:
        return absl::InvalidArgumentError("reference: not a tensor-level op");
    }
  }

  absl::StatusOr<HostTensor> matmul_node(UOpRef node) const {
    const HostTensor &a = source(node, 0), &b = source(node, 1);
    const std::size_t rank = a.shape.size();
    if (rank < 2 || b.shape.size() != rank || a.shape[rank - 1] != b.shape[rank - 2] ||
        !std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin())) {
      return absl::InvalidArgumentError("reference: matmul shapes do not fit");
    }
    return matmul(a, b);
  }

  absl::StatusOr<HostTensor> gather_node(UOpRef node) const {
    const HostTensor &data = source(node, 0), &indices = source(node, 1);
    const std::int64_t axis = node->as<ir::Axes>().axes[0];
    Dims others = data.shape;
    others.erase(others.begin() + axis);
    if (data.shape[axis] == 0 && indices.num_elements() != 0 && num_elements(others) != 0) {
      return absl::InvalidArgumentError("reference: gather from an empty axis");
    }
    return gather(data, indices, axis);
  }

  absl::StatusOr<HostTensor> compute(UOpRef node) const {
    if (node->dtype.lanes != 1) return absl::InvalidArgumentError("reference: vector dtype in a tensor graph");
    switch (node->op) {
      case Op::Const:
        return constant(node);
      case Op::Var:
        return variable(node);
      case Op::Buffer:
      case Op::Iota:
      case Op::Reshape:
      case Op::Expand: {
        const absl::Status fits = check_shape(dims_from(node, node->op == Op::Buffer || node->op == Op::Iota ? 0 : 1));
        if (!fits.ok()) return fits;
        if (node->op == Op::Buffer) return buffer(node);
        if (node->op == Op::Iota) return iota(node->dtype.scalar, dims_from(node, 0), node->as<ir::Axes>().axes[0]);
        return movement(node);
      }
      case Op::ReduceAxis: {
        const auto& info = node->as<ir::ReduceInfo>();
        return reduce(source(node, 0), info.kind, info.axes);
      }
      case Op::MatMul:
        return matmul_node(node);
      case Op::Gather:
        return gather_node(node);
      case Op::Scatter:
        return scatter(source(node, 0), source(node, 1), source(node, 2), node->as<ir::ScatterInfo>().combines);
      default:
        break;
    }
    if (ir::is_elementwise(node->op)) return elementwise_node(node);
    return movement(node);
  }

  const Bindings& bindings_;
  std::span<const std::int64_t> vars_;
  std::unordered_map<UOpRef, HostTensor> values_;  // looked up, never iterated
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> interpret(std::span<const UOpRef> outputs, const Bindings& bindings,
                                                  std::span<const std::int64_t> vars) {
  GraphInterpreter interpreter(bindings, vars);
  const absl::Status status = interpreter.run(outputs);
  if (!status.ok()) return status;
  std::vector<HostTensor> results;
  for (UOpRef output : outputs) results.push_back(interpreter.value(output));
  return results;
}

}  // namespace hearth::codegen::reference
