#include "compiler/codegen/spirv/codegen.h"

#include <vector>

#include "compiler/codegen/spirv/check_module.h"
#include "compiler/codegen/spirv/emitter.h"

namespace hearth::codegen::spirv {

absl::StatusOr<std::string> compile(const passes::LinearKernel& kernel, const target::Target& target) {
  const absl::StatusOr<std::vector<std::uint32_t>> words = Emitter(kernel, target).run();
  if (!words.ok()) return words.status();
  if (absl::Status valid = check_module(*words, kernel.symbol); !valid.ok()) return valid;
  return std::string(reinterpret_cast<const char*>(words->data()), words->size() * sizeof(std::uint32_t));
}

absl::StatusOr<std::string> emit_text(const passes::LinearKernel& kernel, const target::Target& target) {
  const absl::StatusOr<std::vector<std::uint32_t>> words = Emitter(kernel, target).run();
  if (!words.ok()) return words.status();
  return disassembly(*words);
}

}  // namespace hearth::codegen::spirv
