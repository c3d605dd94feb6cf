#include "compiler/codegen/spirv/codegen.h"

#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/spirv/check_module.h"
#include "compiler/codegen/spirv/emitter.h"

namespace hearth::codegen::spirv {

absl::StatusOr<std::string> compile(const passes::LinearKernel& kernel, const target::Target& target) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> words, Emitter(kernel, target).run());
  HEARTH_RETURN_IF_ERROR(check_module(words, kernel.symbol));
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t));
}

absl::StatusOr<std::string> emit_text(const passes::LinearKernel& kernel, const target::Target& target) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> words, Emitter(kernel, target).run());
  return disassembly(words);
}

}  // namespace hearth::codegen::spirv
