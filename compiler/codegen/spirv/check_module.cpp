#include "compiler/codegen/spirv/check_module.h"

#include <spirv-tools/libspirv.hpp>

#include "absl/strings/str_cat.h"

namespace hearth::codegen::spirv {
namespace {

constexpr spv_target_env kEnvironment = SPV_ENV_VULKAN_1_3;

}  // namespace

absl::Status check_module(std::span<const std::uint32_t> words, const std::string& symbol) {
  spvtools::SpirvTools tools(kEnvironment);
  std::string messages;
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t& place, const char* text) {
    absl::StrAppend(&messages, messages.empty() ? "" : "; ", text, " (word ", place.index, ")");
  });
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  if (tools.Validate(words.data(), words.size(), options)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("codegen: kernel ", symbol, ": spirv-val refuses its module: ", messages));
}

absl::StatusOr<std::string> disassembly(std::span<const std::uint32_t> words) {
  spvtools::SpirvTools tools(kEnvironment);
  std::string text;
  const std::vector<std::uint32_t> copy(words.begin(), words.end());
  if (!tools.Disassemble(copy, &text, SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES | SPV_BINARY_TO_TEXT_OPTION_INDENT))
    return absl::InternalError("codegen: SPIRV-Tools cannot disassemble the module");
  return text;
}

}  // namespace hearth::codegen::spirv
