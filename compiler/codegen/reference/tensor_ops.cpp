#include "compiler/codegen/reference/tensor_ops.h"

#include <algorithm>

#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"

namespace hearth::codegen::reference {
namespace {

// The tensor whose element at each coordinate is `element(coordinate)`.
template <class F>
HostTensor generate(ir::Scalar dtype, const Dims& shape, F element) {
  HostTensor result(dtype, shape);
  std::int64_t position = 0;
  for_each_coordinate(shape, [&](const Coordinates& c) { result.set(position++, element(c)); });
  return result;
}

}  // namespace

absl::StatusOr<HostTensor> elementwise(ir::Op op, ir::Scalar result, std::span<const HostTensor* const> operands) {
  Dims shape;
  for (const HostTensor* operand : operands) {
    if (!operand->shape.empty()) shape = operand->shape;
  }
  const ir::Scalar operand_dtype = operands[op == ir::Op::Where ? 1 : 0]->dtype;
  HostTensor out(result, shape);
  std::vector<Element> args(operands.size());
  const std::int64_t count = out.num_elements();
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < operands.size(); ++i) args[i] = operands[i]->get(operands[i]->shape.empty() ? 0 : k);
    HEARTH_ASSIGN_OR_RETURN(Element value, evaluate(op, result, operand_dtype, args));
    out.set(k, value);
  }
  return out;
}

HostTensor iota(ir::Scalar dtype, const Dims& shape, std::int64_t axis) {
  return generate(dtype, shape, [&](const Coordinates& c) {
    const Element arg = Element::of_int(c[axis]);
    return evaluate(ir::Op::Cast, dtype, ir::Scalar::I64, std::span(&arg, 1)).value();
  });
}

HostTensor reshape(const HostTensor& x, const Dims& shape) {
  HostTensor result = x;
  result.shape = shape;
  return result;
}

HostTensor expand(const HostTensor& x, const Dims& shape) {
  return generate(x.dtype, shape, [&](Coordinates c) {
    for (std::size_t axis = 0; axis < c.size(); ++axis) {
      if (x.shape[axis] == 1) c[axis] = 0;
    }
    return x.at(c);
  });
}

HostTensor permute(const HostTensor& x, const Dims& axes) {
  Dims shape;
  for (const std::int64_t axis : axes) shape.push_back(x.shape[axis]);
  return generate(x.dtype, shape, [&](const Coordinates& c) {
    Coordinates from(c.size());
    for (std::size_t k = 0; k < c.size(); ++k) from[axes[k]] = c[k];
    return x.at(from);
  });
}

HostTensor pad(const HostTensor& x, Element fill, const Dims& before, const Dims& after) {
  Dims shape = x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) shape[axis] += before[axis] + after[axis];
  return generate(x.dtype, shape, [&](Coordinates c) {
    for (std::size_t axis = 0; axis < c.size(); ++axis) {
      c[axis] -= before[axis];
      if (c[axis] < 0 || c[axis] >= x.shape[axis]) return fill;
    }
    return x.at(c);
  });
}

HostTensor shrink(const HostTensor& x, const Dims& begin, const Dims& end) {
  Dims shape = x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = end[axis] - begin[axis];
  return generate(x.dtype, shape, [&](Coordinates c) {
    for (std::size_t axis = 0; axis < c.size(); ++axis) c[axis] += begin[axis];
    return x.at(c);
  });
}

HostTensor flip(const HostTensor& x, const Dims& axes) {
  return generate(x.dtype, x.shape, [&](Coordinates c) {
    for (const std::int64_t axis : axes) c[axis] = x.shape[axis] - 1 - c[axis];
    return x.at(c);
  });
}

HostTensor unfold(const HostTensor& x, std::int64_t axis, std::int64_t size, std::int64_t step, std::int64_t dilation) {
  Dims shape = x.shape;
  shape[axis] = 0;
  for (std::int64_t begin = 0; begin + (size - 1) * dilation < x.shape[axis]; begin += step) ++shape[axis];
  shape.push_back(size);
  return generate(x.dtype, shape, [&](Coordinates c) {
    c[axis] = c[axis] * step + c.back() * dilation;
    c.pop_back();
    return x.at(c);
  });
}

HostTensor cat(std::span<const HostTensor* const> parts, std::int64_t axis) {
  Dims shape = parts[0]->shape;
  shape[axis] = 0;
  for (const HostTensor* part : parts) shape[axis] += part->shape[axis];
  return generate(parts[0]->dtype, shape, [&](Coordinates c) {
    std::size_t which = 0;
    while (c[axis] >= parts[which]->shape[axis]) c[axis] -= parts[which++]->shape[axis];
    return parts[which]->at(c);
  });
}

HostTensor reduce(const HostTensor& x, ir::ReduceKind kind, const Dims& axes) {
  Dims shape = x.shape;
  for (const std::int64_t axis : axes) shape[axis] = 1;
  HostTensor result(x.dtype, shape);
  const ir::Scalar accumulator_dtype = accumulator_scalar(x.dtype);
  std::vector<Element> accumulators(static_cast<std::size_t>(result.num_elements()), reduce_identity(kind, x.dtype));
  for_each_coordinate(x.shape, [&](Coordinates c) {
    const Element value = x.at(c);
    for (const std::int64_t axis : axes) c[axis] = 0;
    Element& accumulator = accumulators[static_cast<std::size_t>(result.position_of(c))];
    accumulator = reduce_step(kind, accumulator_dtype, accumulator, value);
  });
  for (std::size_t k = 0; k < accumulators.size(); ++k) {
    result.set(static_cast<std::int64_t>(k), normalize(x.dtype, accumulators[k]));
  }
  return result;
}

HostTensor matmul(const HostTensor& a, const HostTensor& b) {
  const std::size_t rank = a.shape.size();
  Dims shape = a.shape;
  shape[rank - 1] = b.shape[rank - 1];
  const ir::Scalar accumulator_dtype = accumulator_scalar(a.dtype);
  return generate(a.dtype, shape, [&](const Coordinates& c) {
    Coordinates left = c, right = c;
    Element sum = reduce_identity(ir::ReduceKind::Sum, a.dtype);
    for (std::int64_t k = 0; k < a.shape[rank - 1]; ++k) {
      left[rank - 1] = k;
      right[rank - 2] = k;
      const Element factors[] = {a.at(left), b.at(right)};
      const Element product = evaluate(ir::Op::Mul, accumulator_dtype, accumulator_dtype, factors).value();
      sum = reduce_step(ir::ReduceKind::Sum, accumulator_dtype, sum, product);
    }
    return normalize(a.dtype, sum);
  });
}

HostTensor gather(const HostTensor& data, const HostTensor& indices, std::int64_t axis) {
  Dims shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  const std::int64_t size = data.shape[axis];
  const auto index_rank = static_cast<std::int64_t>(indices.shape.size());
  return generate(data.dtype, shape, [&](const Coordinates& c) {
    const Coordinates where(c.begin() + axis, c.begin() + axis + index_rank);
    std::int64_t index = indices.at(where).i;
    if (indices.dtype == ir::Scalar::U64 && index < 0) {
      index = size - 1;  // beyond int64: clamped to the last
    } else if (index < 0 && index >= -size) {
      index += size;
    }
    Coordinates from(c.begin(), c.begin() + axis);
    from.push_back(std::clamp<std::int64_t>(index, 0, size - 1));
    from.insert(from.end(), c.begin() + axis + index_rank, c.end());
    return data.at(from);
  });
}

HostTensor scatter(const HostTensor& data, const HostTensor& indices, const HostTensor& updates,
                   std::optional<ir::ReduceKind> combines) {
  HostTensor result = data;
  const std::int64_t size = data.shape[0], count = indices.num_elements();
  const std::int64_t row = size == 0 ? 0 : data.num_elements() / size;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = indices.get(i).i;  // u64 beyond int64 is negative here: outside too
    if (index < 0 || index >= size) continue;
    for (std::int64_t j = 0; j < row; ++j) {
      const std::int64_t at = index * row + j;
      const Element update = updates.get(i * row + j);
      result.set(at, combines ? reduce_step(*combines, data.dtype, result.get(at), update) : update);
    }
  }
  return result;
}

}  // namespace hearth::codegen::reference
