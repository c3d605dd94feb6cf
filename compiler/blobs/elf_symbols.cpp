#include "compiler/blobs/elf_symbols.h"

#include <set>

#include "compiler/blobs/elf_file.h"
#include "runtime/file.h"
#include "runtime/text.h"

namespace hearth::blobs {

absl::StatusOr<std::vector<std::string>> undefined_symbols(const std::string& object) {
  const absl::StatusOr<std::string> bytes = runtime::read_file(object);
  if (!bytes.ok()) return bytes.status();
  const auto file = ElfFile::open(*bytes, ET_REL);
  const auto symbols = file.ok() ? file->symbols(SHT_SYMTAB) : file.status();
  if (!symbols.ok()) return absl::Status(symbols.status().code(), str_cat(object, ": ", symbols.status().message()));
  std::set<std::string> names;
  for (const ElfSymbol& symbol : *symbols)
    if (!symbol.is_defined && !symbol.name.empty()) names.emplace(symbol.name);
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace hearth::blobs
