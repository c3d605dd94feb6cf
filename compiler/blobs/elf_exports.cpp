#include "compiler/blobs/elf_exports.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/text.h"

namespace hearth::blobs {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "say which ELF machine this is"
#endif

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";

// A value or the bytes at a place of the file; nothing when they are not all there.
template <typename T>
std::optional<T> value_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::string_view> part_of(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

std::string_view text_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  strings.remove_prefix(offset);
  const auto end = strings.find('\0');
  return end == std::string_view::npos ? std::string_view() : strings.substr(0, end);
}

absl::Status broken(const std::string& what) { return absl::DataLossError(str_cat("the object file ", what)); }

absl::StatusOr<std::vector<Elf64_Shdr>> sections_of(std::string_view bytes) {
  const auto header = value_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return broken("is not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != kMachine)
    return broken(str_cat("is for another machine (ELF machine ", header->e_machine, ")"));
  if (header->e_type != ET_DYN) return broken("is not a shared object");
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = value_at<Elf64_Shdr>(bytes, header->e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section) return broken("is truncated: its section table is outside the file");
    sections.push_back(*section);
  }
  return sections;
}

absl::Status read_symbols(std::string_view bytes, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table,
                          bool exported_only, std::vector<std::string>* names) {
  if (table.sh_link >= sections.size()) return broken("has a symbol table without names");
  const auto strings = part_of(bytes, sections[table.sh_link].sh_offset, sections[table.sh_link].sh_size);
  const auto symbols = part_of(bytes, table.sh_offset, table.sh_size);
  if (!strings || !symbols) return broken("is truncated: its symbols are outside the file");
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = value_at<Elf64_Sym>(*symbols, at);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
    if (exported_only && ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL) continue;
    names->emplace_back(text_at(*strings, symbol->st_name));
  }
  return absl::OkStatus();
}

// The table at the front of each offload bundle: count, then offset, size, length of the target's name and the name.
void read_bundles(std::string_view section, std::vector<std::string>* targets) {
  for (std::size_t start = section.find(kBundleMagic); start != std::string_view::npos;
       start = section.find(kBundleMagic, start + 1)) {
    std::uint64_t at = start + kBundleMagic.size();
    const auto count = value_at<std::uint64_t>(section, at);
    at += 8;
    for (std::uint64_t i = 0; count && i < std::min<std::uint64_t>(*count, 1024); ++i) {
      const auto size = value_at<std::uint64_t>(section, at + 8), length = value_at<std::uint64_t>(section, at + 16);
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
  const auto sections = sections_of(bytes);
  if (!sections.ok()) return sections.status();
  const auto header = value_at<Elf64_Ehdr>(bytes, 0);
  std::string_view names;
  if (header->e_shstrndx < sections->size()) {
    const Elf64_Shdr& table = (*sections)[header->e_shstrndx];
    names = part_of(bytes, table.sh_offset, table.sh_size).value_or("");
  }
  ElfObject object;
  for (const Elf64_Shdr& section : *sections) {
    absl::Status read;
    if (section.sh_type == SHT_DYNSYM) read = read_symbols(bytes, *sections, section, true, &object.functions);
    if (section.sh_type == SHT_SYMTAB) read = read_symbols(bytes, *sections, section, false, &object.hidden_hints);
    if (!read.ok()) return read;
    if (text_at(names, section.sh_name) != ".hip_fatbin") continue;
    const auto code = part_of(bytes, section.sh_offset, section.sh_size);
    if (!code) return broken("is truncated: its GPU code is outside the file");
    object.has_fat_binary = true;
    if (code->starts_with(kCompressedMagic)) object.gpu_targets.emplace_back();  // compressed: targets not readable
    read_bundles(*code, &object.gpu_targets);
  }
  return object;
}

absl::Status check_blob_object(std::string_view bytes, const std::vector<std::string>& exports,
                               const std::vector<std::string>& archs) {
  const auto object = read_elf_object(bytes);
  if (!object.ok()) return object.status();
  for (const std::string& prefix : exports) {
    const std::vector<std::string> found = beginning_with(object->functions, prefix);
    if (found.size() > 1)
      return absl::DataLossError(str_cat("export ", prefix, " is ambiguous: ", found.size(),
                                         " functions begin with it: ", some(found),
                                         "; a blob defines one specialisation"));
    if (found.size() == 1) continue;
    const std::vector<std::string> hidden = beginning_with(object->hidden_hints, prefix);
    if (!hidden.empty())
      return absl::DataLossError(
          str_cat("export ", prefix, " is missing: ", some(hidden), " is defined, but weak, local or hidden"));
    return absl::DataLossError(
        str_cat("export ", prefix, " is missing; exported functions: ", some(object->functions)));
  }
  if (archs.empty()) return absl::OkStatus();
  if (!object->has_fat_binary) return absl::DataLossError("no GPU code is in it (.hip_fatbin is missing)");
  if (std::find(object->gpu_targets.begin(), object->gpu_targets.end(), "") != object->gpu_targets.end())
    return absl::OkStatus();
  for (const std::string& arch : archs) {
    const bool found = std::any_of(object->gpu_targets.begin(), object->gpu_targets.end(),
                                   [&](const std::string& target) { return target.ends_with("--" + arch); });
    if (!found)
      return absl::DataLossError(str_cat("no GPU code for ", arch, " is in it; there is: ", some(object->gpu_targets)));
  }
  return absl::OkStatus();
}

}  // namespace hearth::blobs
