#include "compiler/codegen/spirv/check_module.h"

#include <spirv-tools/libspirv.hpp>

#include "absl/strings/str_cat.h"

namespace hearth::codegen::spirv {
namespace {

constexpr spv_target_env kEnvironment = SPV_ENV_VULKAN_1_3;

// Debian 12's is older than the extension.
bool knows_cooperative_matrices() {
  static const bool knows = [] {
    std::vector<std::uint32_t> words;
    return spvtools::SpirvTools(kEnvironment).Assemble("OpCapability CooperativeMatrixKHR", &words);
  }();
  return knows;
}

bool has_cooperative_matrices(std::span<const std::uint32_t> words) {
  constexpr std::uint32_t kHeaderWords = 5, kOpCapability = 17, kCooperativeMatrix = 6022;
  for (std::size_t at = kHeaderWords; at + 1 < words.size() && (words[at] & 0xFFFF) == kOpCapability; at += 2) {
    if (words[at + 1] == kCooperativeMatrix) return true;
  }
  return false;
}

}  // namespace

absl::Status check_module(std::span<const std::uint32_t> words, const std::string& symbol) {
  if (has_cooperative_matrices(words) && !knows_cooperative_matrices()) return absl::OkStatus();
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
  if (has_cooperative_matrices(words) && !knows_cooperative_matrices())
    return "; no text: this build's SPIRV-Tools is older than cooperative matrices\n";
  std::string text;
  const std::vector<std::uint32_t> copy(words.begin(), words.end());
  if (!tools.Disassemble(copy, &text, SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES | SPV_BINARY_TO_TEXT_OPTION_INDENT))
    return absl::InternalError("codegen: SPIRV-Tools cannot disassemble the module");
  return text;
}

}  // namespace hearth::codegen::spirv
