// The tensor-level ops on HostTensors, each written as "for every output coordinate, which input element".
// Arguments are already checked by graph_interpreter.cpp; only `evaluate`'s errors can occur. Thread-safe.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/host_tensor.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

using Dims = std::vector<std::int64_t>;

// Operands have one shape; rank-0 operands are repeated.
absl::StatusOr<HostTensor> elementwise(ir::Op op, ir::Scalar result, std::span<const HostTensor* const> operands);
HostTensor iota(ir::Scalar dtype, const Dims& shape, std::int64_t axis);
HostTensor reshape(const HostTensor& x, const Dims& shape);
HostTensor expand(const HostTensor& x, const Dims& shape);
HostTensor permute(const HostTensor& x, const Dims& axes);
HostTensor pad(const HostTensor& x, Element fill, const Dims& before, const Dims& after);
HostTensor shrink(const HostTensor& x, const Dims& begin, const Dims& end);
HostTensor flip(const HostTensor& x, const Dims& axes);
// Axis n -> number of windows; a new last axis of `size`.
HostTensor unfold(const HostTensor& x, std::int64_t axis, std::int64_t size, std::int64_t step, std::int64_t dilation);
HostTensor cat(std::span<const HostTensor* const> parts, std::int64_t axis);
HostTensor reduce(const HostTensor& x, ir::ReduceKind kind, const Dims& axes);
// [.., m, k] x [.., k, n] -> [.., m, n].
HostTensor matmul(const HostTensor& a, const HostTensor& b);
// numpy.take along `axis`; indices in [-n, 0) count from the end, others are clamped into [0, n). n > 0.
HostTensor gather(const HostTensor& data, const HostTensor& indices, std::int64_t axis);
// data [n, ..] with each update written, or combined with what is there, at its index along the first axis, in order;
// an index outside of [0, n) writes nothing. indices [m..], updates [m.., ..].
HostTensor scatter(const HostTensor& data, const HostTensor& indices, const HostTensor& updates,
                   std::optional<ir::ReduceKind> combines);

}  // namespace hearth::codegen::reference
