#include "blobs/tools/elf_file.h"

#include <cstring>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

template <typename T>
std::optional<T> value_at(std::string_view bytes, std::uint64_t offset) {
  const auto part = part_of(bytes, offset, sizeof(T));
  if (!part) return std::nullopt;
  T value;
  std::memcpy(&value, part->data(), sizeof value);
  return value;
}

// Nothing when it is outside the table or does not end in it.
std::optional<std::string_view> text_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  strings.remove_prefix(offset);
  const auto end = strings.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return strings.substr(0, end);
}

absl::Status broken(const std::string& what) { return absl::DataLossError(str_cat("the object file ", what)); }

absl::StatusOr<std::vector<Elf64_Shdr>> sections_of(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  if (header.e_shoff == 0) return sections;
  const absl::Status outside = broken("is truncated: its section table is outside the file");
  const auto first = value_at<Elf64_Shdr>(bytes, header.e_shoff);
  if (!first) return outside;
  // Objects of -ffunction-sections may have more sections than e_shnum can say; the first header has the number then.
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first->sh_size;
  if (count > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr)) return outside;
  for (std::uint64_t i = 0; i < count; ++i)
    sections.push_back(*value_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)));
  return sections;
}

}  // namespace

std::optional<std::string_view> part_of(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

std::optional<std::uint64_t> number_at(std::string_view bytes, std::uint64_t offset) {
  return value_at<std::uint64_t>(bytes, offset);
}

absl::StatusOr<ElfFile> ElfFile::open(std::string_view bytes, Elf64_Half type) {
  const auto header = value_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return broken("is not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != kElfMachine)
    return broken(str_cat("is for another machine (ELF machine ", header->e_machine, ")"));
  if (header->e_type != type)
    return broken(type == ET_DYN   ? "is not a shared object"
                  : type == ET_REL ? "is not a relocatable object"
                                   : "is not of the expected type");
  if (header->e_shoff != 0 && header->e_shentsize != sizeof(Elf64_Shdr))
    return broken(str_cat("has section headers of ", header->e_shentsize, " bytes"));
  HEARTH_ASSIGN_OR_RETURN(auto sections, sections_of(bytes, *header));
  ElfFile file;
  file.bytes_ = bytes;
  file.sections_ = std::move(sections);
  // With too many sections for the header's field, the first section header has the index too.
  const std::uint64_t names =
      header->e_shstrndx == SHN_XINDEX && !file.sections_.empty() ? file.sections_[0].sh_link : header->e_shstrndx;
  if (names < file.sections_.size()) file.section_names_ = file.bytes_of(file.sections_[names]).value_or("");
  return file;
}

absl::StatusOr<std::string_view> ElfFile::bytes_of(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return std::string_view();
  const auto bytes = part_of(bytes_, section.sh_offset, section.sh_size);
  if (!bytes) return broken("is truncated: a section is outside the file");
  return *bytes;
}

absl::StatusOr<std::vector<ElfSymbol>> ElfFile::symbols(Elf64_Word table_type) const {
  std::vector<ElfSymbol> symbols;
  for (const Elf64_Shdr& table : sections_) {
    if (table.sh_type != table_type) continue;
    if (table.sh_link >= sections_.size()) return broken("has a symbol table without names");
    const auto strings = bytes_of(sections_[table.sh_link]);
    const auto entries = bytes_of(table);
    if (!strings.ok() || !entries.ok()) return broken("is truncated: its symbols are outside the file");
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= entries->size(); at += sizeof(Elf64_Sym)) {
      const auto symbol = *value_at<Elf64_Sym>(*entries, at);
      const auto name = symbol.st_name == 0 ? std::string_view() : text_at(*strings, symbol.st_name);
      if (!name) return broken("has a symbol whose name is outside the table of names");
      symbols.push_back({.name = *name,
                         .type = static_cast<unsigned char>(ELF64_ST_TYPE(symbol.st_info)),
                         .binding = static_cast<unsigned char>(ELF64_ST_BIND(symbol.st_info)),
                         .is_defined = symbol.st_shndx != SHN_UNDEF});
    }
  }
  return symbols;
}

absl::Status ElfFile::for_each_relocation(const std::function<void(const ElfRelocation&)>& see) const {
  HEARTH_ASSIGN_OR_RETURN(const auto symbols, this->symbols(SHT_SYMTAB));
  for (const Elf64_Shdr& table : sections_) {
    if (table.sh_type != SHT_RELA) continue;
    if (table.sh_info >= sections_.size()) return broken("has relocations of a section that it lacks");
    const Elf64_Shdr& section = sections_[table.sh_info];
    if ((section.sh_flags & SHF_ALLOC) == 0) continue;
    HEARTH_ASSIGN_OR_RETURN(const auto entries, bytes_of(table));
    ElfRelocation relocation;
    relocation.section = text_at(section_names_, section.sh_name).value_or("");
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= entries.size(); at += sizeof(Elf64_Rela)) {
      const auto entry = *value_at<Elf64_Rela>(entries, at);
      const std::uint64_t number = ELF64_R_SYM(entry.r_info);
      if (number >= symbols.size()) return broken("has a relocation by a symbol that it lacks");
      relocation.offset = entry.r_offset;
      relocation.symbol = &symbols[number];
      see(relocation);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string_view>> ElfFile::section(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_) {
    if (text_at(section_names_, section.sh_name) != name) continue;
    HEARTH_ASSIGN_OR_RETURN(const auto bytes, bytes_of(section));
    return std::optional(bytes);
  }
  return std::optional<std::string_view>();
}

}  // namespace hearth::blobs
