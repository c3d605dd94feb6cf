#include "compiler/codegen/spirv/module.h"

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"
#include "hearth/small_float.h"

namespace hearth::codegen::spirv {

using ir::Scalar;

namespace {

// Kernels use what SPIR-V 1.5, of Vulkan 1.2 and later, has without extensions.
constexpr unsigned kVersion = spv::Spv_1_5;
constexpr unsigned kGenerator = 0;  // none registered

// Where the builder keeps types, of which Debian 12's knows no cooperative matrices. Never an object: glslang is built
// without the type information that one would need.
struct BuilderParts : spv::Builder {
  static auto whole() { return &BuilderParts::module; }
  static auto globals() { return &BuilderParts::constantsTypesGlobals; }
};

std::uint64_t narrow_bits(Scalar scalar, double value) {
  switch (scalar) {
    case Scalar::F16:
      return Float16(value).bits();
    case Scalar::BF16:
      return BFloat16(value).bits();
    case Scalar::F8E4M3:
      return Float8E4M3(value).bits();
    default:
      return Float8E5M2(value).bits();
  }
}

}  // namespace

Module::Module(const target::Target& target, bool has_matrices)
    : builder_(kVersion, kGenerator, &log_),
      has_matrices_(has_matrices),
      device_(target.name()),
      features_(target.record().features().begin(), target.record().features().end()) {
  builder_.addCapability(spv::CapabilityShader);
  builder_.addCapability(spv::CapabilityInt64);
  builder_.addCapability(spv::CapabilityPhysicalStorageBufferAddresses);
  builder_.setMemoryModel(spv::AddressingModelPhysicalStorageBuffer64,
                          has_matrices ? spv::MemoryModelVulkan : spv::MemoryModelGLSL450);
  if (has_matrices) {
    builder_.addExtension("SPV_KHR_cooperative_matrix");
    builder_.addCapability(kCapabilityCooperativeMatrix);
    builder_.addCapability(spv::CapabilityVulkanMemoryModel);
    builder_.addCapability(spv::CapabilityGroupNonUniform);
  }
}

spv::Id Module::matrix_type(const MatrixKind& kind) {
  spv::Id& known = matrix_types_[kind];
  if (known != spv::NoResult) return known;
  const auto& [component, rows, columns, use] = kind;
  auto type = std::make_unique<spv::Instruction>(builder_.getUniqueId(), spv::NoType, kOpTypeCooperativeMatrix);
  type->addIdOperand(component);
  for (const std::uint32_t number : {static_cast<std::uint32_t>(spv::ScopeSubgroup), rows, columns, use})
    type->addIdOperand(builder_.makeUintConstant(number));
  known = type->getResultId();
  (builder_.*BuilderParts::whole()).mapInstruction(type.get());
  (builder_.*BuilderParts::globals()).push_back(std::move(type));
  return known;
}

spv::Id Module::matrix_type(const ir::WmmaInfo& unit, ir::MatrixOperand operand, ir::Scalar scalar) {
  need("cooperativeMatrix");
  spv::Id component = f32();
  if (scalar == Scalar::I32) component = builder_.makeIntType(32);
  if (scalar == Scalar::I8) {
    word(8);
    component = builder_.makeIntType(8);
  }
  if (scalar == Scalar::F16) {
    if (need("shaderFloat16")) builder_.addCapability(spv::CapabilityFloat16);
    component = builder_.makeFloatType(16);
  }
  switch (operand) {
    case ir::MatrixOperand::A:
      return matrix_type({component, unit.m, unit.k, 0});
    case ir::MatrixOperand::B:
      return matrix_type({component, unit.k, unit.n, 1});
    default:
      return matrix_type({component, unit.m, unit.n, 2});
  }
}

bool Module::need(std::string_view feature) {
  if (has(feature)) return true;
  if (refused_.ok()) {
    refused_ = absl::UnimplementedError(absl::StrCat(node_ == nullptr ? "the kernel" : ir::describe(node_), " needs ",
                                                     std::string(feature), ", which ", device_, " lacks"));
  }
  return false;
}

spv::Id Module::word(int bits) {
  if (bits == 8 && need("shaderInt8")) builder_.addCapability(spv::CapabilityInt8);
  if (bits == 16 && need("shaderInt16")) builder_.addCapability(spv::CapabilityInt16);
  return builder_.makeUintType(bits);
}

spv::Id Module::f64() {
  if (need("shaderFloat64")) builder_.addCapability(spv::CapabilityFloat64);
  return builder_.makeFloatType(64);
}

spv::Id Module::value_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::Bool:
      return boolean();
    case Scalar::F32:
      return f32();
    case Scalar::F64:
      return f64();
    default:
      return word(ir::bit_width(scalar));
  }
}

spv::Id Module::memory_type(Scalar scalar) {
  const int bytes = ir::byte_size(scalar);
  if (bytes == 1 && need("storageBuffer8BitAccess")) {
    builder_.addCapability(spv::CapabilityStorageBuffer8BitAccess);
  }
  if (bytes == 2 && need("storageBuffer16BitAccess")) {
    builder_.addCapability(spv::CapabilityStorageBuffer16BitAccess);
  }
  // Addresses and positions are 64 bits wide on every device that has addresses; elements are another matter.
  if (bytes == 8 && scalar != Scalar::F64) need("shaderInt64");
  return scalar == Scalar::Bool ? word(8) : value_type(scalar);
}

spv::Id Module::integer(int bits, std::uint64_t value) {
  switch (bits) {
    case 8:
      word(8);
      return builder_.makeUint8Constant(static_cast<std::uint8_t>(value));
    case 16:
      word(16);
      return builder_.makeUint16Constant(static_cast<std::uint16_t>(value));
    case 32:
      return builder_.makeUintConstant(static_cast<std::uint32_t>(value));
    default:
      return builder_.makeUint64Constant(value);
  }
}

spv::Id Module::real(spv::Id type, double value) {
  return builder_.getScalarTypeWidth(type) == 64 ? builder_.makeDoubleConstant(value)
                                                 : builder_.makeFloatConstant(static_cast<float>(value));
}

spv::Id Module::constant(Scalar scalar, const ir::ConstValue& value) {
  if (ir::is_bool(scalar)) return builder_.makeBoolConstant(value.i != 0);
  if (scalar == Scalar::F32 || scalar == Scalar::F64) return real(value_type(scalar), value.f);
  if (ir::is_float(scalar)) return integer(ir::bit_width(scalar), narrow_bits(scalar, value.f));
  return integer(ir::bit_width(scalar), static_cast<std::uint64_t>(value.i));
}

std::vector<std::uint32_t> Module::words() {
  builder_.postProcess();
  std::vector<unsigned> code;
  builder_.dump(code);
  return {code.begin(), code.end()};
}

}  // namespace hearth::codegen::spirv
