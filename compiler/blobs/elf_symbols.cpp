#include "compiler/blobs/elf_symbols.h"

#include <elf.h>

#include <cstring>
#include <set>

#include "runtime/file.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

template <typename T>
bool read_at(const std::string& bytes, std::uint64_t at, T* out) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + at, sizeof(T));
  return true;
}

bool inside(const std::string& bytes, const Elf64_Shdr& section) {
  return section.sh_offset <= bytes.size() && section.sh_size <= bytes.size() - section.sh_offset;
}

// False when the table is cut short.
bool collect(const std::string& bytes, const Elf64_Shdr& symbols, const Elf64_Shdr& names, std::set<std::string>* out) {
  if (!inside(bytes, symbols) || !inside(bytes, names)) return false;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol{};
    std::memcpy(&symbol, bytes.data() + symbols.sh_offset + at, sizeof symbol);
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
    if (symbol.st_name >= names.sh_size) return false;
    const char* name = bytes.data() + names.sh_offset + symbol.st_name;
    const std::size_t room = names.sh_size - symbol.st_name;
    const std::size_t length = strnlen(name, room);
    if (length == room) return false;
    out->emplace(name, length);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> undefined_symbols(const std::string& object) {
  const absl::StatusOr<std::string> bytes = runtime::read_file(object);
  if (!bytes.ok()) return bytes.status();
  const absl::Status broken = absl::DataLossError(str_cat(object, ": is not a whole 64-bit little-endian ELF object"));
  Elf64_Ehdr header{};
  if (!read_at(*bytes, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return broken;
  // Objects of -ffunction-sections may have more sections than e_shnum can say; the first header has the number then.
  Elf64_Shdr first{};
  if (!read_at(*bytes, header.e_shoff, &first)) return broken;
  const std::uint64_t sections = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  if (sections > bytes->size() / sizeof(Elf64_Shdr)) return broken;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < sections; ++i) {
    Elf64_Shdr table{}, strings{};
    if (!read_at(*bytes, header.e_shoff + i * sizeof table, &table)) return broken;
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_link >= sections || !read_at(*bytes, header.e_shoff + table.sh_link * sizeof strings, &strings) ||
        !collect(*bytes, table, strings, &names))
      return broken;
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace hearth::blobs
