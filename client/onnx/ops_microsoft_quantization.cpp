// Products with, and rows of, weights in blocks of few bits in the domain com.microsoft, as ONNX Runtime's quantiser
// writes language models.
#include "base/text.h"
#include "client/onnx/operators.h"
#include "client/onnx/quantized_blocks.h"
#include "client/onnx/reject.h"
#include "client/onnx/storage_type.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/reduce.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

// x [.., K] times columns of weights in blocks: the sum over blocks, words of a block and numbers of a word, so that the
// product reads words. `packed`: [N, blocks, bytes of a block]; scales and zeros [N, blocks, 1].
Tensor product_of_words(const Tensor& x, const Tensor& packed, const Tensor& scales, const Tensor& zeros,
                        std::int64_t bits) {
  const client::Dim columns = packed.dim(0), blocks = packed.dim(1), words = packed.dim(2) / 4;
  const std::int64_t per = 32 / bits;
  const Tensor bytes = client::cast(client::reshape(packed, {columns, blocks, words, 4}), DType::kU32);
  Tensor word;  // of four bytes, without a sum over them: a copy for the product's sake computes it on the way
  for (std::int64_t i = 0; i < 4; ++i) {
    const Tensor byte = client::squeeze(client::slice(bytes, {{.axis = 3, .begin = i, .end = i + 1}}), {3});
    word = i == 0 ? byte : client::bit_or(word, client::shift_left(byte, 8 * i));
  }
  word = client::contiguous(client::permute(word, {1, 2, 0}));  // [blocks, words, N]
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
    const Tensor all = unpacked_bits(shaped(3, {columns, (blocks * bits + 7) / 8}, "zero_points"), bits);
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
    const Tensor numbers = client::shrink(client::reshape(unpacked_bits(packed, bits), {columns, blocks * block}),
                                          {0, 0}, {columns, deep});
    const Tensor weights = (client::cast(numbers, DType::kF32) - of_rows(zero)) * of_rows(scales);
    y = client::matmul(node.wide(0), client::transpose(weights));
  } else if (bits < 8 && block * bits % 32 == 0) {
    y = product_of_words(node.wide(0), packed, scales, zero, bits);
  } else {
    Tensor weights = (client::cast(unpacked_bits(packed, bits), DType::kF32) - zero) * scales;
    weights = client::shrink(client::reshape(weights, {columns, blocks * block}), {0, 0}, {columns, deep});
    y = client::matmul(node.wide(0), client::transpose(weights));
  }
  if (node.has_input(5)) y = y + node.wide(5);
  return {Value(node.rounded(y))};
}

// A table of numbers in blocks of few bits, its scales, and the attributes that say how they lie.
struct QuantizedTable {
  QuantizedTable(NodeContext& node, const Value& table)
      : data(table),
        is_packed(!table.is_stored() && table.dtype() == DType::kU8),
        bits(node.integer("bits", 4)),
        block(node.integer("block_size", 128)),
        rows(positive_axis(node.integer("gather_axis", 0), table.rank())),
        axis(positive_axis(node.integer("quantize_axis", 1), table.rank())) {
    const bool is_byte_float = !table.is_stored() && is_float(table.dtype()) && dtype_bytes(table.dtype()) == 1;
    const bool is_stored_float = table.is_stored() && table.storage().kind == StorageType::Kind::kFloat;
    is_symmetric = is_byte_float || is_stored_float;
    if (!is_packed && !is_symmetric && !table.is_stored())
      reject(str_cat("data is ", dtype_name(table.dtype()),
                     "; expected u8, int4, uint4 or a float of four or eight bits"));
    if (is_packed && bits != 2 && bits != 4 && bits != 8) reject(str_cat("bits is ", bits, "; expected 2, 4 or 8"));
    if (is_packed && rows != 0) reject(str_cat("gather_axis is ", rows, "; rows of bytes are picked along axis 0"));
    if (is_packed && bits < 8 && rows == axis)
      reject("quantize_axis and gather_axis are the same, along which a byte holds several numbers");
    const bool is_power = block >= 16 && (block & (block - 1)) == 0;
    if (!is_power && (block != 0 || !is_symmetric))
      reject(str_cat("block_size is ", block, "; expected a power of two from 16 on"));
  }

  // The table has so many numbers along each axis.
  client::Shape shape() const {
    client::Shape all = data.dims();
    if (is_packed) all.back() = all.back() * (8 / bits);
    return all;
  }
  Tensor numbers(const Tensor& picked) const {
    if (data.is_stored()) return decoded(picked, data.storage());
    return is_packed ? unpacked_bits(picked, bits) : picked;
  }

  const Value& data;
  const bool is_packed;
  const std::int64_t bits, block, rows, axis;
  bool is_symmetric = false;
};

// Rows of a table, made real numbers after they were picked: the table stays as the file has it.
Values gather_block_quantized(NodeContext& node) {
  const QuantizedTable table(node, node.input(0));
  const Tensor indices = node.tensor(1);
  const client::Shape shape = table.shape();
  const auto rows = static_cast<std::size_t>(table.rows), axis = static_cast<std::size_t>(table.axis);
  if (!shape[axis].is_const() || !shape[rows].is_const()) reject_unsupported("a table of symbolic length");
  const std::int64_t length = shape[axis].value(), block = table.block == 0 ? length : table.block;
  const Tensor picked =
      client::gather(table.data.is_stored() ? table.data.codes().tensor() : table.data.tensor(), indices, table.rows);
  const Tensor numbers = table.numbers(picked);
  const std::int64_t new_axes = indices.rank() - 1,
                     new_axis = table.axis < table.rows ? table.axis : table.axis + new_axes;

  // Scales or zero points, one for each picked number.
  const auto of_picked = [&](const Tensor& blocks, std::string_view what) {
    client::Shape expected = shape;
    expected[axis] = client::Dim((length + block - 1) / block);
    client::Shape given = blocks.shape();
    if (given.size() != expected.size())
      reject(str_cat(what, " is ", to_string(given), "; expected ", to_string(expected)));
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool is_for_all = table.is_symmetric && i != axis && given[i] == client::Dim(1);
      if (!is_for_all && !(given[i] == expected[i]))
        reject(str_cat(what, " is ", to_string(given), "; expected ", to_string(expected)));
    }
    if (rows == axis) {  // of the block that the number is in
      const Tensor place = client::where(client::less(indices, 0), indices + length, indices);
      return client::gather(blocks, client::floor_div(place, block), table.rows);
    }
    Tensor all = blocks;
    if (given[rows] == shape[rows]) {
      all = client::gather(blocks, indices, table.rows);
    } else {
      client::Shape one = given;
      one.erase(one.begin() + table.rows);
      one.insert(one.begin() + table.rows, static_cast<std::size_t>(indices.rank()), client::Dim(1));
      all = client::reshape(blocks, one);
    }
    return of_elements(all, block, new_axis, numbers);
  };
  const Tensor scales = node.tensor(2);
  Tensor y = client::cast(numbers, DType::kF32);
  if (node.has_input(3)) {
    const Value& zero = node.input(3);
    if (table.is_symmetric) reject("zero_points beside floats, which have none");
    if (zero.is_stored() != table.data.is_stored() || (!zero.is_stored() && zero.dtype() != DType::kU8))
      reject("zero_points are of another type than data");
    const Tensor codes = zero.is_stored() ? zero.codes().tensor() : zero.tensor();
    Tensor points = table.numbers(codes);
    // The last byte of a row of them may be filled up.
    const std::int64_t blocks = (length + block - 1) / block;
    if (table.is_packed && axis + 1 == shape.size() && points.dim(table.axis).is_const() &&
        points.dim(table.axis).value() - blocks < 8 / table.bits && points.dim(table.axis).value() > blocks)
      points = client::slice(points, {{.axis = table.axis, .end = blocks}});
    y = y - client::cast(of_picked(points, "zero_points"), DType::kF32);
  } else if (table.is_packed) {
    y = y - static_cast<double>(std::int64_t{1} << (table.bits - 1));
  }
  y = y * widened(of_picked(scales, "scales"));
  // What is out of range is a row of zeros.
  const std::int64_t count = shape[rows].value();
  const Tensor is_row = client::bit_and(client::greater_equal(indices, -count), client::less(indices, count));
  client::Shape one(y.shape().size(), client::Dim(1));
  for (std::int64_t i = 0; i < indices.rank(); ++i) one[rows + static_cast<std::size_t>(i)] = indices.dim(i);
  y = client::where(client::reshape(is_row, one), y, 0.0);
  return {Value(client::cast(y, scales.dtype()))};
}

constexpr OperatorEntry kOperators[] = {{"MatMulNBits", matmul_nbits},
                                        {"GatherBlockQuantized", gather_block_quantized}};

}  // namespace

std::span<const OperatorEntry> microsoft_quantization_operators() { return kOperators; }

}  // namespace hearth::onnx
