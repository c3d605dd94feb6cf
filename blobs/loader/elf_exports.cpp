#include "blobs/loader/elf_exports.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/hearth_blob.h"

namespace hearth::blob {
namespace {

constexpr std::size_t kNamedCandidates = 5;

class Elf {
 public:
  Elf(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    header_ = read<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) bad("it is not an ELF file");
    const std::uint16_t one = 1;
    unsigned char little = 0;
    std::memcpy(&little, &one, 1);
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
      bad("it is not a 64-bit object of this machine's byte order");
    if (header_.e_type != ET_DYN) bad("it is not a shared object");
    if (header_.e_machine != kMachine) bad("it is for another processor");
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) bad("its program headers have another size");
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      segments_.push_back(read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr)));
      const Elf64_Phdr& segment = segments_.back();
      // The loader maps these and would be killed by the first touch of a page that the file does not have.
      if ((segment.p_type == PT_LOAD || segment.p_type == PT_DYNAMIC) &&
          (segment.p_offset > bytes_.size() || segment.p_filesz > bytes_.size() - segment.p_offset))
        bad("it is truncated");
    }
    // Linkers write the table of sections last: a file that ends before it was not written to its end, even where
    // nothing that is mapped is missing.
    const std::uint64_t sections = std::uint64_t{header_.e_shnum} * header_.e_shentsize;
    if (header_.e_shnum != 0 && (header_.e_shoff > bytes_.size() || sections > bytes_.size() - header_.e_shoff))
      bad("it is truncated");
    read_dynamic();
  }

  // Exported functions, in the order of the table.
  std::vector<std::string_view> functions() const {
    std::vector<std::string_view> out;
    const std::uint64_t count = symbol_count();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto symbol = read<Elf64_Sym>(symbols_ + i * sizeof(Elf64_Sym));
      if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT) continue;
      if (symbol.st_name >= strings_.size()) bad("a symbol's name is outside of its string table");
      const std::string_view rest = strings_.substr(symbol.st_name);
      const std::size_t end = rest.find('\0');
      if (end == std::string_view::npos) bad("a symbol's name has no end");
      out.push_back(rest.substr(0, end));
    }
    return out;
  }

  [[noreturn]] void bad(const std::string& why) const {
    throw BlobError(kDataLoss, name_ + " cannot be used: " + why + "; remove it, so that it is compiled again");
  }

 private:
#if defined(__x86_64__)
  static constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
  static constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "libhearth_blob is for x86-64 and AArch64"
#endif

  template <typename T>
  T read(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) bad("it is truncated");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // The place in the file of an address of the loaded object.
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    bad("its dynamic section names an address that is not in the file");
  }

  void read_dynamic() {
    std::uint64_t strings = 0, strings_size = 0, symbols = 0;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = read<Elf64_Dyn>(segment.p_offset + at);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
        if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
        if (entry.d_tag == DT_HASH) hash_ = entry.d_un.d_ptr;
        if (entry.d_tag == DT_GNU_HASH) gnu_hash_ = entry.d_un.d_ptr;
      }
    }
    if (strings == 0 || symbols == 0) bad("it has no dynamic symbols");
    const std::uint64_t begin = offset_of(strings);
    if (strings_size > bytes_.size() - begin) bad("it is truncated");
    strings_ = bytes_.substr(begin, strings_size);
    symbols_ = offset_of(symbols);
  }

  std::uint64_t symbol_count() const {
    if (hash_ != 0) return read<std::uint32_t>(offset_of(hash_) + 4);
    if (gnu_hash_ == 0) bad("it has no table of its symbols");
    const std::uint64_t at = offset_of(gnu_hash_);
    const auto buckets = read<std::uint32_t>(at);
    const auto first = read<std::uint32_t>(at + 4);
    const std::uint64_t bloom = read<std::uint32_t>(at + 8);
    const std::uint64_t table = at + 16 + bloom * 8;
    std::uint32_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) last = std::max(last, read<std::uint32_t>(table + i * 4));
    if (last < first) return first;
    // The chain of the last bucket ends with a set lowest bit.
    const std::uint64_t chains = table + std::uint64_t{buckets} * 4;
    while ((read<std::uint32_t>(chains + (std::uint64_t{last} - first) * 4) & 1) == 0) ++last;
    return std::uint64_t{last} + 1;
  }

  std::string_view bytes_;
  const std::string& name_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::string_view strings_;
  std::uint64_t symbols_ = 0, hash_ = 0, gnu_hash_ = 0;
};

}  // namespace

std::vector<std::string> find_exports(std::string_view elf, const std::string& name_for_errors,
                                      const std::vector<std::string>& prefixes) {
  const Elf file(elf, name_for_errors);
  const std::vector<std::string_view> functions = file.functions();
  std::vector<std::string> out;
  for (const std::string& prefix : prefixes) {
    std::vector<std::string_view> matching;
    for (const std::string_view function : functions)
      if (function.substr(0, prefix.size()) == prefix) matching.push_back(function);
    if (matching.size() == 1) {
      out.emplace_back(matching[0]);
      continue;
    }
    std::string list;
    const std::vector<std::string_view>& candidates = matching.empty() ? functions : matching;
    for (std::size_t i = 0; i < candidates.size() && i < kNamedCandidates; ++i)
      list += (i ? ", " : "") + std::string(candidates[i]);
    if (candidates.size() > kNamedCandidates) list += ", …";
    if (!matching.empty()) file.bad("more than one exported function begins with " + prefix + ": " + list);
    file.bad("it exports no function that begins with " + prefix + " (was it compiled with -fvisibility=hidden?); it " +
             (list.empty() ? "exports no function at all" : "exports " + list));
  }
  return out;
}

}  // namespace hearth::blob
