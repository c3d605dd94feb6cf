#include "compiler/codegen/reference/host_tensor.h"

#include <cassert>

namespace hearth::codegen::reference {

HostTensor::HostTensor(ir::Scalar dtype, std::vector<std::int64_t> shape)
    : dtype(dtype),
      shape(std::move(shape)),
      bytes(static_cast<std::size_t>(reference::num_elements(this->shape) * ir::byte_size(dtype))) {}

HostTensor HostTensor::from_values(ir::Scalar dtype, std::vector<std::int64_t> shape, std::span<const double> values) {
  HostTensor tensor(dtype, std::move(shape));
  assert(static_cast<std::int64_t>(values.size()) == tensor.num_elements());
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Element value =
        ir::is_float(dtype) ? Element::of_float(values[k]) : Element::of_int(static_cast<std::int64_t>(values[k]));
    tensor.set(static_cast<std::int64_t>(k), normalize(dtype, value));
  }
  return tensor;
}

HostTensor HostTensor::from_ints(ir::Scalar dtype, std::vector<std::int64_t> shape,
                                 std::span<const std::int64_t> values) {
  HostTensor tensor(dtype, std::move(shape));
  assert(static_cast<std::int64_t>(values.size()) == tensor.num_elements());
  for (std::size_t k = 0; k < values.size(); ++k) {
    tensor.set(static_cast<std::int64_t>(k), normalize(dtype, {values[k], static_cast<double>(values[k])}));
  }
  return tensor;
}

std::int64_t HostTensor::num_elements() const { return reference::num_elements(shape); }

Element HostTensor::get(std::int64_t position) const {
  assert(position >= 0 && position < num_elements());
  return read_element(dtype, bytes.data() + position * ir::byte_size(dtype));
}

void HostTensor::set(std::int64_t position, Element value) {
  assert(position >= 0 && position < num_elements());
  write_element(dtype, value, bytes.data() + position * ir::byte_size(dtype));
}

std::int64_t HostTensor::position_of(std::span<const std::int64_t> coordinates) const {
  assert(coordinates.size() == shape.size());
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) position = position * shape[axis] + coordinates[axis];
  return position;
}

std::int64_t num_elements(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

void for_each_coordinate(std::span<const std::int64_t> shape, const std::function<void(const Coordinates&)>& visit) {
  const std::int64_t count = num_elements(shape);
  Coordinates coordinates(shape.size(), 0);
  for (std::int64_t k = 0; k < count; ++k) {
    visit(coordinates);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++coordinates[axis] < shape[axis]) break;
      coordinates[axis] = 0;
    }
  }
}

}  // namespace hearth::codegen::reference
