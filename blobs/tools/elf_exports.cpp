#include "blobs/tools/elf_exports.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/elf_file.h"

namespace hearth::blobs {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";

bool is_function(const ElfSymbol& symbol) { return symbol.type == STT_FUNC && symbol.is_defined; }

// The table at the front of each offload bundle: count, then offset, size, length of the target's name and the name.
void read_bundles(std::string_view section, std::vector<std::string>* targets) {
  for (std::size_t start = section.find(kBundleMagic); start != std::string_view::npos;
       start = section.find(kBundleMagic, start + 1)) {
    std::uint64_t at = start + kBundleMagic.size();
    const auto count = number_at(section, at);
    at += 8;
    for (std::uint64_t i = 0; count && i < std::min<std::uint64_t>(*count, 1024); ++i) {
      const auto size = number_at(section, at + 8), length = number_at(section, at + 16);
      const auto name = length ? part_of(section, at + 24, *length) : std::nullopt;
      if (!size || !name) return;
      if (*size > 0) targets->emplace_back(*name);
      at += 24 + *length;
    }
  }
}

std::string some(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) str_append(&text, i == 0 ? "" : ", ", names[i]);
  if (names.size() > 4) str_append(&text, ", … ", names.size() - 4, " more");
  return text.empty() ? "none" : text;
}

std::vector<std::string> beginning_with(const std::vector<std::string>& names, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (name.starts_with(prefix)) found.push_back(name);
  return found;
}

}  // namespace

absl::StatusOr<ElfObject> read_elf_object(std::string_view bytes) {
  HEARTH_ASSIGN_OR_RETURN(const auto file, ElfFile::open(bytes, ET_DYN));
  const auto exported = file.symbols(SHT_DYNSYM), all = file.symbols(SHT_SYMTAB);
  const auto code = file.section(".hip_fatbin");
  for (const absl::Status& status : {exported.status(), all.status(), code.status()})
    if (!status.ok()) return status;
  ElfObject object;
  for (const ElfSymbol& symbol : *exported)
    if (is_function(symbol) && symbol.binding == STB_GLOBAL) object.functions.emplace_back(symbol.name);
  for (const ElfSymbol& symbol : *all)
    if (is_function(symbol)) object.hidden_hints.emplace_back(symbol.name);
  if (!*code) return object;
  object.has_fat_binary = true;
  if ((*code)->starts_with(kCompressedMagic)) object.gpu_targets.emplace_back();  // compressed: targets not readable
  read_bundles(**code, &object.gpu_targets);
  return object;
}

absl::Status check_blob_object(std::string_view bytes, const std::vector<std::string>& exports,
                               const std::vector<std::string>& archs) {
  HEARTH_ASSIGN_OR_RETURN(const auto object, read_elf_object(bytes));
  for (const std::string& prefix : exports) {
    const std::vector<std::string> found = beginning_with(object.functions, prefix);
    if (found.size() > 1)
      return absl::DataLossError(str_cat("export ", prefix, " is ambiguous: ", found.size(),
                                         " functions begin with it: ", some(found),
                                         "; a blob defines one specialisation"));
    if (found.size() == 1) continue;
    const std::vector<std::string> hidden = beginning_with(object.hidden_hints, prefix);
    if (!hidden.empty())
      return absl::DataLossError(
          str_cat("export ", prefix, " is missing: ", some(hidden), " is defined, but weak, local or hidden"));
    return absl::DataLossError(str_cat("export ", prefix, " is missing; exported functions: ", some(object.functions)));
  }
  if (archs.empty()) return absl::OkStatus();
  if (!object.has_fat_binary) return absl::DataLossError("no GPU code is in it (.hip_fatbin is missing)");
  if (std::find(object.gpu_targets.begin(), object.gpu_targets.end(), "") != object.gpu_targets.end())
    return absl::OkStatus();
  for (const std::string& arch : archs) {
    const bool found = std::any_of(object.gpu_targets.begin(), object.gpu_targets.end(),
                                   [&](const std::string& target) { return target.ends_with("--" + arch); });
    if (!found)
      return absl::DataLossError(str_cat("no GPU code for ", arch, " is in it; there is: ", some(object.gpu_targets)));
  }
  return absl::OkStatus();
}

}  // namespace hearth::blobs
