#include "blobs/tools/elf_symbols.h"

#include <algorithm>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/elf_file.h"

namespace hearth::blobs {
namespace {

constexpr std::uint64_t kMaxListed = 1 << 24;  // of a table; a damaged object may say anything

absl::Status about(const std::string& object, const absl::Status& status) {
  return absl::Status(status.code(), str_cat(object, ": ", status.message()));
}

// Calls `use` with the object's symbols.
template <typename Use>
absl::Status with_symbols(const std::string& object, const Use& use) {
  HEARTH_ASSIGN_OR_RETURN(const std::string bytes, runtime::read_file(object));
  const auto file = ElfFile::open(bytes, ET_REL);
  const auto symbols = file.ok() ? file->symbols(SHT_SYMTAB) : file.status();
  if (!symbols.ok()) return about(object, symbols.status());
  use(*symbols);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> names_of(const std::string& object, bool defined) {
  std::set<std::string> names;
  const absl::Status read = with_symbols(object, [&](const std::vector<ElfSymbol>& symbols) {
    for (const ElfSymbol& symbol : symbols)
      if (symbol.is_defined == defined && !symbol.name.empty()) names.emplace(symbol.name);
  });
  if (!read.ok()) return read;
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace

absl::StatusOr<std::vector<std::string>> undefined_symbols(const std::string& object) {
  return names_of(object, false);
}

absl::StatusOr<std::vector<std::string>> defined_symbols(const std::string& object) { return names_of(object, true); }

absl::StatusOr<bool> has_kernels(const std::string& object) {
  bool has = false;
  const absl::Status read = with_symbols(object, [&](const std::vector<ElfSymbol>& symbols) {
    has = std::any_of(symbols.begin(), symbols.end(), [](const ElfSymbol& symbol) {
      return symbol.is_defined && symbol.name.find("__device_stub__") != std::string_view::npos;
    });
  });
  if (!read.ok()) return read;
  return has;
}

absl::StatusOr<ObjectReferences> references(const std::string& object, std::string_view section) {
  HEARTH_ASSIGN_OR_RETURN(const std::string bytes, runtime::read_file(object));
  const auto file = ElfFile::open(bytes, ET_REL);
  if (!file.ok()) return about(object, file.status());
  ObjectReferences found;
  std::set<std::string_view> undefined;  // a large object names each many times
  const absl::Status read = file->for_each_relocation([&](const ElfRelocation& relocation) {
    if (relocation.section == section) {
      const std::uint64_t place = relocation.offset / sizeof(std::uint64_t);
      if (place >= kMaxListed) return;
      if (found.listed.size() <= place) found.listed.resize(place + 1);
      found.listed[place] = relocation.symbol->name;
    } else if (!relocation.symbol->is_defined && !relocation.symbol->name.empty()) {
      undefined.insert(relocation.symbol->name);
    }
  });
  if (!read.ok()) return about(object, read);
  found.undefined.insert(undefined.begin(), undefined.end());
  return found;
}

}  // namespace hearth::blobs
