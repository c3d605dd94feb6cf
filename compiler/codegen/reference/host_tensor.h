// HostTensor: a dense row-major tensor of any dtype in ordinary memory, owned by value.
//
//   HostTensor x = HostTensor::from_values(Scalar::F32, {2, 2}, {1, 2, 3, 4});
//   Element e = x.at({1, 0});               // 3
//   HostTensor y(Scalar::I32, {4});         // zeros
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "compiler/codegen/reference/element.h"

namespace hearth::codegen::reference {

using Coordinates = std::vector<std::int64_t>;

struct HostTensor {
  ir::Scalar dtype = ir::Scalar::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  HostTensor() = default;
  HostTensor(ir::Scalar dtype, std::vector<std::int64_t> shape);  // zeros
  // Values in row-major order, wrapped or rounded to the dtype; as many as the shape has elements.
  static HostTensor from_values(ir::Scalar dtype, std::vector<std::int64_t> shape, std::span<const double> values);
  static HostTensor from_values(ir::Scalar dtype, std::vector<std::int64_t> shape,
                                std::initializer_list<double> values) {
    return from_values(dtype, std::move(shape), std::span<const double>(values.begin(), values.size()));
  }
  static HostTensor from_ints(ir::Scalar dtype, std::vector<std::int64_t> shape, std::span<const std::int64_t> values);

  std::int64_t num_elements() const;
  Element get(std::int64_t position) const;  // row-major position
  void set(std::int64_t position, Element value);
  Element at(std::span<const std::int64_t> coordinates) const { return get(position_of(coordinates)); }
  Element at(std::initializer_list<std::int64_t> coordinates) const {
    return at(std::span<const std::int64_t>(coordinates.begin(), coordinates.size()));
  }
  std::int64_t position_of(std::span<const std::int64_t> coordinates) const;
  bool operator==(const HostTensor&) const = default;  // bitwise
};

std::int64_t num_elements(std::span<const std::int64_t> shape);
// Calls `visit` for every coordinate of `shape` in row-major order (once, with {}, for rank 0).
void for_each_coordinate(std::span<const std::int64_t> shape, const std::function<void(const Coordinates&)>& visit);

}  // namespace hearth::codegen::reference
