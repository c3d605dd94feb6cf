// Tensor: a lazy value, a handle to one node of a traced graph. Nothing is computed while recording; shape and
// dtype are known at once. Ops are free functions in hearth/ops/*.h (all: hearth/ops.h) plus the operators below.
// Broadcasting follows numpy. Promotion: bool < integers < floats; equal kinds take the wider type; f16 with bf16
// gives f32; i64 with u64 gives i64; C++ scalars are weak (they take the tensor's dtype unless their kind is higher).
// Handles are immutable values; recording is thread-safe across threads (nodes are never changed).
// Errors: JitError naming op, argument, value, expectation and the caller's source line.
//
//   Tensor x = input("x", {n, 64}, DType::kF32);
//   Tensor w = parameter("w", {64, 10}, DType::kF32, bytes_of(weights));
//   Tensor y = relu(matmul(x, w) + 1.0);
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hearth/array.h"
#include "hearth/dim.h"
#include "hearth/dtype.h"
#include "hearth/error.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct Node;           // client/trace/node.h
struct PrepareConfig;  // hearth/prepare.h

using Axes = std::vector<std::int64_t>;

// Bytes of a parameter. They stay in this process. `owner` (may be empty) keeps `data` alive; without an
// owner the caller keeps the bytes alive and unchanged as long as any plan prepared from them.
struct ParameterData {
  const void* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> owner;
};
// Borrowed bytes of a contiguous container; the caller keeps them alive.
template <typename T>
ParameterData bytes_of(const std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T), nullptr};
}
// Owned bytes.
ParameterData own_bytes(std::string bytes);
// Bytes of `owner` that are not written to while a parameter or plan of them lives: their digest, by which processes of a
// node share weights, is computed once for all plans. After a write, what this is called for again is the new bytes.
ParameterData fixed_bytes(const void* data, std::size_t size, std::shared_ptr<const void> owner);

class Tensor {
 public:
  Tensor() = default;  // empty handle; any use of it is a JitError
  explicit Tensor(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  bool empty() const { return !node_; }
  DType dtype() const;
  const Shape& shape() const;
  std::int64_t rank() const { return static_cast<std::int64_t>(shape().size()); }
  // Length along `axis`; negative axes count from the end.
  const Dim& dim(std::int64_t axis) const;
  const std::shared_ptr<const Node>& node() const { return node_; }

  // All elements of a constant (little endian, filled constants expanded); nothing for anything computed.
  // Follows RESHAPE of constants. Used by importers that fold shapes.
  std::optional<std::string> constant_bytes() const;

  // The numbers, of a tensor that depends on no input: prepares a plan at first, replays it afterwards. Inputs, several
  // tensors at once and what is kept: evaluate() in hearth/evaluate.h.
  absl::StatusOr<Array> evaluate() const;
  absl::StatusOr<Array> evaluate(const PrepareConfig& config) const;

 private:
  std::shared_ptr<const Node> node_;
};

// An operand of a binary op: a tensor or a weak C++ scalar, with the line it was written on.
struct Operand {
  Operand(Tensor value, Loc where = Loc::current()) : tensor(std::move(value)), loc(where) {}  // NOLINT
  template <typename T>
    requires std::is_arithmetic_v<T>
  Operand(T value, Loc where = Loc::current()) : loc(where) {  // NOLINT
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::kBool;
      integer = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind = Kind::kInteger;
      integer = static_cast<std::int64_t>(value);
    } else {
      kind = Kind::kFloat;
      real = static_cast<double>(value);
    }
  }
  enum class Kind { kTensor, kBool, kInteger, kFloat } kind = Kind::kTensor;
  Tensor tensor;
  std::int64_t integer = 0;
  double real = 0;
  Loc loc;
};

// ---- Leaves ---------------------------------------------------------------------------------------------------
// Bound by name at replay.
Tensor input(std::string_view name, Shape shape, DType dtype, Loc loc = Loc::current());
// Bound once; `shape` must be constant and `data.size` its size in bytes.
Tensor parameter(std::string_view name, Shape shape, DType dtype, ParameterData data, Loc loc = Loc::current());
// Without a name: its place in each graph is its name there, so that graphs which differ in nothing else are one.
// evaluate() gives its bytes to a replay as it gives those of an input; they are no part of what is prepared.
Tensor parameter(Shape shape, DType dtype, ParameterData data, Loc loc = Loc::current());
// A constant that travels with the graph: little-endian bytes of all elements. Keep large data in parameters.
Tensor constant(Shape shape, DType dtype, std::string bytes, Loc loc = Loc::current());
Tensor constant_f32(Shape shape, const std::vector<float>& values, Loc loc = Loc::current());
Tensor constant_i64(Shape shape, const std::vector<std::int64_t>& values, Loc loc = Loc::current());
// Every element `value`, which must be representable for integer dtypes.
Tensor full(Shape shape, double value, DType dtype, Loc loc = Loc::current());
Tensor full_i64(Shape shape, std::int64_t value, DType dtype, Loc loc = Loc::current());
Tensor scalar(double value, DType dtype, Loc loc = Loc::current());
// Element = its position along `axis`.
Tensor iota(Shape shape, std::int64_t axis, DType dtype, Loc loc = Loc::current());
// The value that a Dim has at replay, as a scalar of an integer (which holds its bounds) or float dtype.
Tensor dim_value(const Dim& dim, DType dtype = DType::kI64, Loc loc = Loc::current());
// [0, 1, …, length-1]
Tensor arange(Dim length, DType dtype = DType::kI64, Loc loc = Loc::current());

// ---- Operators ------------------------------------------------------------------------------------------------
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);  // true division; integers are cast to f32
Tensor operator-(const Operand& a);

// The dtype two tensors of these dtypes compute in.
DType promote(DType a, DType b);
// The shape both broadcast to (numpy rules); JitError naming both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view op = "broadcast", Loc loc = Loc::current());

}  // namespace hearth::client
#pragma GCC visibility pop
