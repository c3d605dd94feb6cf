#include "compiler/ir/matrix_layout.h"

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
};

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

}  // namespace hearth::ir
