#include "compiler/ir/matrix_layout.h"

#include <bit>

namespace hearth::ir {
namespace {

constexpr MatrixStep row(std::uint8_t step) { return {step, 0}; }
constexpr MatrixStep column(std::uint8_t step) { return {0, step}; }
constexpr MatrixStep kNone = {};

constexpr MatrixShape kShapes[] = {
    {},
    {.name = "mma.sync.m16n8k16",
     .m = 16,
     .n = 8,
     .k = 16,
     .subgroup = 32,
     .a = {8, {column(2), column(4), row(1), row(2), row(4)}, {column(1), row(8), column(8)}},
     .b = {4, {row(2), row(4), column(1), column(2), column(4)}, {row(1), row(8)}},
     .sum = {4, {column(2), column(4), row(1), row(2), row(4)}, {column(1), row(8)}}},
    {.name = "mfma 16x16x16",
     .m = 16,
     .n = 16,
     .k = 16,
     .subgroup = 64,
     .a = {4, {row(1), row(2), row(4), row(8), column(4), column(8)}, {column(1), column(2)}},
     .b = {4, {column(1), column(2), column(4), column(8), row(4), row(8)}, {row(1), row(2)}},
     .sum = {4, {column(1), column(2), column(4), column(8), row(4), row(8)}, {row(1), row(2)}}},
    {.name = "wmma 16x16x16 of gfx11",
     .m = 16,
     .n = 16,
     .k = 16,
     .subgroup = 32,
     .a = {16, {row(1), row(2), row(4), row(8), kNone}, {column(1), column(2), column(4), column(8)}},
     .b = {16, {column(1), column(2), column(4), column(8), kNone}, {row(1), row(2), row(4), row(8)}},
     .sum = {8, {column(1), column(2), column(4), column(8), row(1)}, {row(2), row(4), row(8)}}},
    {.name = "wmma 16x16x16 of gfx12",
     .m = 16,
     .n = 16,
     .k = 16,
     .subgroup = 32,
     .a = {8, {row(1), row(2), row(4), row(8), column(8)}, {column(1), column(2), column(4)}},
     .b = {8, {column(1), column(2), column(4), column(8), row(8)}, {row(1), row(2), row(4)}},
     .sum = {8, {column(1), column(2), column(4), column(8), row(8)}, {row(1), row(2), row(4)}}},
    {},
    {.name = "mma.sync.m16n8k32",
     .m = 16,
     .n = 8,
     .k = 32,
     .subgroup = 32,
     .a = {16, {column(4), column(8), row(1), row(2), row(4)}, {column(1), column(2), row(8), column(16)}},
     .b = {8, {row(4), row(8), column(1), column(2), column(4)}, {row(1), row(2), row(16)}},
     .sum = {4, {column(2), column(4), row(1), row(2), row(4)}, {column(1), row(8)}}},
    {.name = "mfma 16x16x32",
     .m = 16,
     .n = 16,
     .k = 32,
     .subgroup = 64,
     .a = {8, {row(1), row(2), row(4), row(8), column(8), column(16)}, {column(1), column(2), column(4)}},
     .b = {8, {column(1), column(2), column(4), column(8), row(8), row(16)}, {row(1), row(2), row(4)}},
     .sum = {4, {column(1), column(2), column(4), column(8), row(4), row(8)}, {row(1), row(2)}}},
};

// Element e of invocation i is number e * subgroup + i of the matrix, row after row.
Fragment row_after_row(std::uint32_t rows, std::uint32_t columns, std::uint32_t subgroup) {
  Fragment fragment;
  fragment.elements = static_cast<std::uint8_t>(rows * columns / subgroup);
  const auto step_of = [&](std::uint32_t number) {
    return MatrixStep{static_cast<std::uint8_t>(number / columns), static_cast<std::uint8_t>(number % columns)};
  };
  for (std::uint32_t bit = 0; 1U << bit < subgroup; ++bit) fragment.of_invocation[bit] = step_of(1U << bit);
  for (std::uint32_t bit = 0; 1U << bit < fragment.elements; ++bit) fragment.of_element[bit] = step_of(subgroup << bit);
  return fragment;
}

}  // namespace

MatrixStep Fragment::at(std::uint32_t invocation, std::uint32_t element) const {
  MatrixStep sum;
  const auto add = [&](std::uint32_t number, const auto& steps) {
    for (std::size_t bit = 0; bit < steps.size(); ++bit) {
      if ((number >> bit & 1) == 0) continue;
      sum.row = static_cast<std::uint8_t>(sum.row + steps[bit].row);
      sum.column = static_cast<std::uint8_t>(sum.column + steps[bit].column);
    }
  };
  add(invocation, of_invocation);
  add(element, of_element);
  return sum;
}

const MatrixShape& shape_of(MatrixLayout layout) { return kShapes[static_cast<std::size_t>(layout)]; }

bool is_cooperative_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t subgroup) {
  constexpr std::int64_t kMost = 64;
  const auto is_size = [](std::int64_t size) {
    return size > 0 && size <= kMost && std::has_single_bit(static_cast<std::uint64_t>(size));
  };
  const auto is_shared = [&](std::int64_t elements) {
    return elements % subgroup == 0 && elements / subgroup <= kMost;
  };
  return is_size(m) && is_size(n) && is_size(k) && is_size(subgroup) && is_shared(m * k) && is_shared(k * n) &&
         is_shared(m * n);
}

MatrixShape cooperative_shape(std::uint8_t m, std::uint8_t n, std::uint8_t k, std::uint8_t subgroup) {
  return {.name = "cooperative matrix",
          .m = m,
          .n = n,
          .k = k,
          .subgroup = subgroup,
          .a = row_after_row(m, k, subgroup),
          .b = row_after_row(k, n, subgroup),
          .sum = row_after_row(m, n, subgroup)};
}

}  // namespace hearth::ir
