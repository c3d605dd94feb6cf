#include "blobs/tools/stub_object.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "blobs/tools/elf_file.h"

namespace hearth::blobs {
namespace {

// The string table's bytes; names begin at 1, 14 and 30.
constexpr char kNames[] = "\0.hearth_stub\0.note.GNU-stack\0.shstrtab";
constexpr Elf64_Word kStubName = 1, kStackName = 14, kTableName = 30;
constexpr std::string_view kMagic = "hearth stub 1 of ";
constexpr std::size_t kLongest = 1 << 16;  // of a stub: a path and a few headers

template <typename T>
void append(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf64_Shdr section(Elf64_Word name, Elf64_Word type, Elf64_Xword flags, Elf64_Off offset, Elf64_Xword size) {
  Elf64_Shdr header{};
  header.sh_name = name;
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_addralign = 1;
  return header;
}

}  // namespace

std::string stub_object(std::string_view source) {
  const std::string text = str_cat(kMagic, source);
  const Elf64_Off text_at = sizeof(Elf64_Ehdr), names_at = text_at + text.size();
  const Elf64_Off sections_at = (names_at + sizeof kNames + 7) / 8 * 8;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = kElfMachine;
  header.e_version = EV_CURRENT;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  std::string bytes;
  append(&bytes, header);
  bytes += text;
  bytes.append(kNames, sizeof kNames);
  bytes.resize(sections_at);
  append(&bytes, Elf64_Shdr{});
  append(&bytes, section(kStubName, SHT_PROGBITS, SHF_EXCLUDE, text_at, text.size()));
  append(&bytes, section(kStackName, SHT_PROGBITS, 0, names_at, 0));
  append(&bytes, section(kTableName, SHT_STRTAB, 0, names_at, sizeof kNames));
  return bytes;
}

absl::StatusOr<std::string> stub_source(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  // Real objects are told apart by their first bytes; only stubs are read whole.
  std::string bytes(sizeof(Elf64_Ehdr) + kMagic.size(), '\0');
  ssize_t got = read(fd, bytes.data(), bytes.size());
  const bool stub = got == static_cast<ssize_t>(bytes.size()) && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0 &&
                    std::string_view(bytes).substr(sizeof(Elf64_Ehdr)) == kMagic;
  std::string source;
  if (stub) {
    bytes.resize(kLongest);
    got = pread(fd, bytes.data(), bytes.size(), 0);
    Elf64_Ehdr header{};
    Elf64_Shdr text{};
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t at = header.e_shoff + sizeof(Elf64_Shdr);
    if (got > 0 && header.e_shoff < kLongest && at + sizeof text <= static_cast<std::size_t>(got)) {
      std::memcpy(&text, bytes.data() + at, sizeof text);
      if (text.sh_size >= kMagic.size() && text.sh_size < kLongest && sizeof header + text.sh_size <= at)
        source = bytes.substr(sizeof header + kMagic.size(), text.sh_size - kMagic.size());
    }
    if (source.empty()) got = -1, errno = EBADMSG;  // a stub that is cut short
  }
  const int error = errno;
  close(fd);
  if (got < 0) return absl::ErrnoToStatus(error, path);
  return source;
}

}  // namespace hearth::blobs
