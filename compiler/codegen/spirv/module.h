// Module: one SPIR-V module under construction, by glslang's builder: types and constants of the IR's scalars, and
// which optional features of the device it needs. Integers of every signedness are unsigned words here, as SPIR-V's
// instructions choose; bool is OpTypeBool; f16, bf16 and fp8 are their bits in unsigned words.
//
// Used by one thread. A feature that the target's record does not name is refused: refused() names it, with what needed
// it, once; what is emitted after that is of no use.
//
//   Module module(target);
//   spv::Id two = module.constant(ir::Scalar::F32, {.is_float = true, .f = 2});
#pragma once
#include <glslang/SPIRV/SpvBuilder.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/uop.h"
#include "compiler/target/target.h"

namespace hearth::codegen::spirv {

// Operations of SPV_KHR_cooperative_matrix.
inline constexpr auto kOpTypeCooperativeMatrix = static_cast<spv::Op>(4456);
inline constexpr auto kOpCooperativeMatrixLoad = static_cast<spv::Op>(4457);
inline constexpr auto kOpCooperativeMatrixStore = static_cast<spv::Op>(4458);
inline constexpr auto kOpCooperativeMatrixMulAdd = static_cast<spv::Op>(4459);
inline constexpr auto kCapabilityCooperativeMatrix = static_cast<spv::Capability>(6022);

class Module {
 public:
  // Modules that multiply cooperative matrices have Vulkan's memory model, as SPIR-V asks of them.
  Module(const target::Target& target, bool has_matrices);

  spv::Builder& builder() { return builder_; }
  bool has_matrices() const { return has_matrices_; }

  // The type of a value in registers, and of an element in a buffer (bool: a byte).
  spv::Id value_type(ir::Scalar scalar);
  spv::Id memory_type(ir::Scalar scalar);
  spv::Id word(int bits);  // an unsigned integer
  spv::Id f32() { return builder_.makeFloatType(32); }
  spv::Id f64();
  // The type of a subgroup's matrix of f16 or i8 (operands), or of their sums in 32 bits.
  spv::Id matrix_type(const ir::WmmaInfo& unit, ir::MatrixOperand operand, ir::Scalar scalar);
  spv::Id boolean() { return builder_.makeBoolType(); }
  spv::Id pointer_to(spv::Id type) { return builder_.makePointer(spv::StorageClassPhysicalStorageBufferEXT, type); }

  spv::Id constant(ir::Scalar scalar, const ir::ConstValue& value);
  spv::Id integer(int bits, std::uint64_t value);  // truncated to the width
  spv::Id real(spv::Id type, double value);        // type: f32() or f64()

  // What comes next is for this node: refusals name it.
  void set_node(ir::UOpRef node) { node_ = node; }
  bool has(std::string_view feature) const { return features_.contains(std::string(feature)); }
  // Whether the target has `feature` (Vulkan's name); refuses otherwise.
  bool need(std::string_view feature);
  const absl::Status& refused() const { return refused_; }

  std::vector<std::uint32_t> words();  // finished

 private:
  using MatrixKind = std::tuple<spv::Id, std::uint32_t, std::uint32_t, std::uint32_t>;  // component, rows, columns, use
  spv::Id matrix_type(const MatrixKind& kind);

  spv::SpvBuildLogger log_;
  spv::Builder builder_;
  const bool has_matrices_;
  std::map<MatrixKind, spv::Id> matrix_types_;
  const std::string device_;
  const std::set<std::string> features_;
  ir::UOpRef node_ = nullptr;
  absl::Status refused_;
};

}  // namespace hearth::codegen::spirv
