// Products of the domain com.microsoft with weights of 2, 4 or 8 bits in blocks, as ONNX Runtime's quantiser writes
// language models.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

// [.., n] bytes -> [.., n * 8 / bits] numbers of `bits` bits, the lowest of a byte first.
Tensor unpacked(const Tensor& bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  const Tensor shifts = client::cast(client::arange(8 / bits, DType::kI64) * bits, DType::kU8);
  const Tensor numbers = client::bit_and(client::shift_right(client::unsqueeze(bytes, {-1}), shifts), (1 << bits) - 1);
  client::Shape shape = bytes.shape();
  shape.back() = shape.back() * (8 / bits);
  return client::reshape(numbers, shape);
}

// x [.., K] times columns of weights in blocks: the sum over blocks, words of a block and numbers of a word, so that the
// product reads words. `packed`: [N, blocks, bytes of a block]; scales and zeros [N, blocks, 1].
Tensor product_of_words(const Tensor& x, const Tensor& packed, const Tensor& scales, const Tensor& zeros,
                        std::int64_t bits) {
  const client::Dim columns = packed.dim(0), blocks = packed.dim(1), words = packed.dim(2) / 4;
  const std::int64_t per = 32 / bits;
  const Tensor bytes = client::cast(client::reshape(packed, {columns, blocks, words, 4}), DType::kU32);
  const Tensor at = client::arange(4, DType::kU32) * 8;
  Tensor word = client::reduce_sum(client::shift_left(bytes, at), {-1}, false);            // of distinct bits
  word = client::contiguous(client::permute(client::cast(word, DType::kU32), {1, 2, 0}));  // [blocks, words, N]
  const Tensor shifts = client::reshape(client::arange(per, DType::kU32) * bits, {per, 1});
  const Tensor numbers =
      client::bit_and(client::shift_right(client::unsqueeze(word, {2}), shifts), (std::int64_t{1} << bits) - 1);
  const auto by_block = [&](const Tensor& y) {  // [blocks, 1, 1, N]
    return y.rank() == 0 ? y
                         : client::reshape(client::contiguous(client::transpose(client::reshape(y, {columns, blocks}))),
                                           {blocks, 1, 1, columns});
  };
  const Tensor weights = (client::cast(numbers, DType::kF32) - by_block(zeros)) * by_block(scales);
  client::Shape shape = x.shape();
  const client::Dim missing = blocks * words * per - shape.back();
  client::Shape before(shape.size(), client::Dim(0)), after = before;
  after.back() = missing;
  const Tensor padded = missing == client::Dim(0) ? x : client::pad(x, before, after);
  shape.back() = blocks;
  shape.insert(shape.end(), {words, client::Dim(per), client::Dim(1)});
  return client::reduce_sum(client::reshape(padded, shape) * weights, {-4, -3, -2}, false);
}

Values matmul_nbits(NodeContext& node) {
  const std::int64_t deep = node.required_integer("K"), columns = node.required_integer("N"),
                     bits = node.integer("bits", 4), block = node.required_integer("block_size");
  node.integer("accuracy_level", 0);  // what may be computed in fewer bits; nothing is
  if (bits != 2 && bits != 4 && bits != 8) reject_unsupported(str_cat("weights of ", bits, " bits"));
  if (deep < 1 || columns < 1 || block < 1 || block * bits % 8 != 0)
    reject(str_cat("K is ", deep, ", N ", columns, ", block_size ", block));
  const std::int64_t blocks = (deep + block - 1) / block;
  const auto shaped = [&](std::size_t input, const client::Shape& shape, std::string_view what) {
    const Tensor& x = node.tensor(input);
    if (!(client::num_elements(x.shape()) == client::num_elements(shape)))
      reject(str_cat(what, " is ", to_string(x.shape()), "; expected ", to_string(shape)));
    return client::reshape(x, shape);
  };
  const Tensor packed = shaped(1, {columns, blocks, block * bits / 8}, "B");
  if (packed.dtype() != DType::kU8) reject(str_cat("B is ", dtype_name(packed.dtype()), "; expected u8"));
  const Tensor scales = widened(shaped(2, {columns, blocks, 1}, "scales"));
  Tensor zero = client::full({}, static_cast<double>(std::int64_t{1} << (bits - 1)), DType::kF32);
  if (node.has_input(3) && is_float(node.tensor(3).dtype())) {
    zero = widened(shaped(3, {columns, blocks, 1}, "zero_points"));
  } else if (node.has_input(3)) {
    const Tensor all = unpacked(shaped(3, {columns, (blocks * bits + 7) / 8}, "zero_points"), bits);
    zero = client::cast(client::unsqueeze(client::shrink(all, {0, 0}, {columns, blocks}), {2}), DType::kF32);
  }
  Tensor y;
  if (node.has_input(4)) {  // which block's scale and zero point each row of B has
    const Tensor& group = node.tensor(4);
    if (!is_integer(group.dtype()) || !(group.shape() == client::Shape{deep}))
      reject(str_cat("g_idx (input 4) is ", dtype_name(group.dtype()), to_string(group.shape()), "; expected ", deep,
                     " integers"));
    const auto of_rows = [&](const Tensor& x) {
      return x.rank() == 0 ? x : client::gather(client::reshape(x, {columns, blocks}), group, 1);
    };
    const Tensor numbers =
        client::shrink(client::reshape(unpacked(packed, bits), {columns, blocks * block}), {0, 0}, {columns, deep});
    const Tensor weights = (client::cast(numbers, DType::kF32) - of_rows(zero)) * of_rows(scales);
    y = client::matmul(node.wide(0), client::transpose(weights));
  } else if (bits < 8 && block * bits % 32 == 0) {
    y = product_of_words(node.wide(0), packed, scales, zero, bits);
  } else {
    Tensor weights = (client::cast(unpacked(packed, bits), DType::kF32) - zero) * scales;
    weights = client::shrink(client::reshape(weights, {columns, blocks * block}), {0, 0}, {columns, deep});
    y = client::matmul(node.wide(0), client::transpose(weights));
  }
  if (node.has_input(5)) y = y + node.wide(5);
  return {Value(node.rounded(y))};
}

constexpr OperatorEntry kOperators[] = {{"MatMulNBits", matmul_nbits}};

}  // namespace

std::span<const OperatorEntry> microsoft_quantization_operators() { return kOperators; }

}  // namespace hearth::onnx
