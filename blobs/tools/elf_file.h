// ElfFile: the sections and symbols of a 64-bit little-endian ELF file, read from its bytes.
//
// Every offset is checked when it is used, so that a truncated or hostile file is an error, never a crash. Views into
// the bytes, which must outlive it. Thread-safe. Errors: DataLoss saying what is wrong; the caller says of which file.
//   absl::StatusOr<ElfFile> file = ElfFile::open(bytes, ET_REL);
//   if (file.ok()) symbols = file->symbols(SHT_SYMTAB);
#pragma once
#include <absl/status/statusor.h>
#include <elf.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace hearth::blobs {

#if defined(__x86_64__)
inline constexpr Elf64_Half kElfMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr Elf64_Half kElfMachine = EM_AARCH64;
#else
#error "name this machine's ELF number"
#endif

// A part of some bytes; nothing when it is not all there.
std::optional<std::string_view> part_of(std::string_view bytes, std::uint64_t offset, std::uint64_t size);
// The 8 bytes there as a number, likewise.
std::optional<std::uint64_t> number_at(std::string_view bytes, std::uint64_t offset);

struct ElfSymbol {
  std::string_view name;
  unsigned char type = 0;     // STT_…
  unsigned char binding = 0;  // STB_…
  bool is_defined = false;
};

// A place in a relocatable object where the address of a symbol will be.
struct ElfRelocation {
  std::string_view section;  // that holds the place
  std::uint64_t offset = 0;  // in it
  const ElfSymbol* symbol = nullptr;
};

class ElfFile {
 public:
  // `type`: ET_DYN, ET_REL; a file of another type, or for another machine than this, is an error.
  static absl::StatusOr<ElfFile> open(std::string_view bytes, Elf64_Half type);

  // The symbols of all tables of that type (SHT_SYMTAB, SHT_DYNSYM), in their order.
  absl::StatusOr<std::vector<ElfSymbol>> symbols(Elf64_Word table_type) const;
  // Calls `see` for every relocation of what is loaded into a process; debug information is left out.
  absl::Status for_each_relocation(const std::function<void(const ElfRelocation&)>& see) const;
  // The first section of that name; nothing when there is none.
  absl::StatusOr<std::optional<std::string_view>> section(std::string_view name) const;

 private:
  absl::StatusOr<std::string_view> bytes_of(const Elf64_Shdr& section) const;

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view section_names_;
};

}  // namespace hearth::blobs
