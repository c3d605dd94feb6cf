// Where the invocations of a subgroup have the elements of the small matrices that a GPU's matrix unit multiplies. Each
// operand is a fragment: an invocation has a few of its elements, in the order of its vector. All layouts are linear in
// the bits of the invocation's number and of the element's: each bit that is set adds its step to the row and to the
// column (P. Zhou et al., "Linear Layouts", 2025). One table for generators and interpreters.
//
// Which invocation has what of Vulkan's cooperative matrices is the driver's secret: they are loaded and stored whole
// (MatrixAccess), and a layout of our own stands for theirs where kernels are interpreted.
//
// Sources: NVIDIA, "PTX ISA 8.5", mma.m16n8k16 and m16n8k32; AMD, "CDNA3 ISA", chapter 7, and its Matrix Instruction Calculator;
// AMD, "RDNA3 ISA" and "RDNA4 ISA", wave matrix multiply accumulate.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace hearth::ir {

enum class MatrixLayout : std::uint8_t {
  Whole,        // no subgroup: an invocation has all of its matrices (WmmaInfo.group)
  MmaSync16,    // NVIDIA sm_80 and later, 16 bits: 16x8x16
  Mfma16,       // AMD gfx90a, gfx942, 16 bits: 16x16x16
  WmmaGfx11,    // 16 bits: 16x16x16, both halves of a subgroup have the same operands
  WmmaGfx12,    // 16 bits: 16x16x16
  Cooperative,  // VK_KHR_cooperative_matrix, of the sizes and the subgroup that the device has
  MmaSync8,     // NVIDIA sm_80 and later, 8 bits: 16x8x32
  Mfma8,        // AMD gfx942, 8 bits: 16x16x32; AMD's other units have 8 bits where they have 16
};

enum class MatrixOperand : std::uint8_t { A, B, Sum };

struct MatrixStep {
  std::uint8_t row = 0, column = 0;
};

struct Fragment {
  std::uint8_t elements = 0;                     // of an invocation
  std::array<MatrixStep, 6> of_invocation = {};  // by bit of its number in the subgroup, the lowest first
  std::array<MatrixStep, 6> of_element = {};     // by bit of the element's

  // Where an invocation's element lies in the matrix.
  MatrixStep at(std::uint32_t invocation, std::uint32_t element) const;
};

struct MatrixShape {
  std::string_view name;  // empty: no unit
  std::uint8_t m = 0, n = 0, k = 0;
  std::uint8_t subgroup = 0;  // invocations
  Fragment a, b, sum;         // m rows of k columns, k of n, m of n

  const Fragment& fragment(MatrixOperand operand) const {
    return operand == MatrixOperand::A ? a : operand == MatrixOperand::B ? b : sum;
  }
};

// The shape of a layout of one size.
const MatrixShape& shape_of(MatrixLayout layout);
// Neighbours in a subgroup have neighbours of a row. All are powers of two, at most 64, and an invocation has at least
// one and at most 64 elements of each matrix.
MatrixShape cooperative_shape(std::uint8_t m, std::uint8_t n, std::uint8_t k, std::uint8_t subgroup);
bool is_cooperative_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t subgroup);
// Elements of f32 from one row to the next of a cooperative matrix of sums that passes through shared memory: rows begin
// at multiples of 16 bytes, in different banks.
constexpr std::int64_t padded_row(std::int64_t columns) { return columns + 4; }
// The layouts of one size.
inline constexpr MatrixLayout kMatrixLayouts[] = {MatrixLayout::MmaSync16, MatrixLayout::Mfma16,
                                                  MatrixLayout::WmmaGfx11, MatrixLayout::WmmaGfx12,
                                                  MatrixLayout::MmaSync8,  MatrixLayout::Mfma8};

}  // namespace hearth::ir
