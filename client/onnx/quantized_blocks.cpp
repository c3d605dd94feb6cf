#include "client/onnx/quantized_blocks.h"

#include "base/text.h"
#include "client/onnx/reject.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"

namespace hearth::onnx {

using client::Tensor;

Tensor of_elements(const Tensor& blocks, std::int64_t block, std::int64_t axis, const Tensor& x) {
  const Tensor spread = client::repeat_interleave(blocks, block, axis);
  if (!x.dim(axis).is_const() || !spread.dim(axis).is_const()) reject_unsupported("blocks along a symbolic axis");
  const std::int64_t length = x.dim(axis).value();
  if (blocks.rank() != x.rank() || spread.dim(axis).value() < length || spread.dim(axis).value() - block >= length)
    reject(str_cat("scales of ", blocks.rank(), " axes are not those of blocks of ", block, " along axis ", axis));
  return client::slice(spread, {{.axis = axis, .end = length}});
}

Tensor unpacked_bits(const Tensor& bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  const Tensor shifts = client::cast(client::arange(8 / bits, DType::kI64) * bits, DType::kU8);
  const Tensor numbers = client::bit_and(client::shift_right(client::unsqueeze(bytes, {-1}), shifts), (1 << bits) - 1);
  client::Shape shape = bytes.shape();
  shape.back() = shape.back() * (8 / bits);
  return client::reshape(numbers, shape);
}

}  // namespace hearth::onnx
