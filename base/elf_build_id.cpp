#include "base/elf_build_id.h"

#include <elf.h>
#include <fcntl.h>

#include <cstring>
#include <vector>

#include "base/unique_fd.h"

namespace hearth {
namespace {

constexpr std::size_t kMaxNotesBytes = 64 << 10, kMaxIdBytes = 64;
constexpr int kMaxHeaders = 128;

bool read_at(int fd, std::uint64_t offset, void* place, std::size_t size) {
  return offset <= INT64_MAX && ::pread(fd, place, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

// The description of the note among these, empty when there is none.
std::string id_among(const std::vector<char>& notes) {
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, &notes[at], sizeof note);
    if (note.n_namesz > notes.size() || note.n_descsz > notes.size()) break;
    const std::size_t name = at + sizeof note, text = name + padded(note.n_namesz);
    at = text + padded(note.n_descsz);
    if (at > notes.size()) break;
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(&notes[name], "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMaxIdBytes) return {&notes[text], note.n_descsz};
  }
  return "";
}

}  // namespace

std::string elf_build_id(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr elf;
  if (!file || !read_at(file.get(), 0, &elf, sizeof elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
      elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > kMaxHeaders) {
    return "";
  }
  for (int i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr header;
    const std::uint64_t offset = elf.e_phoff + static_cast<std::uint64_t>(i) * sizeof header;
    if (!read_at(file.get(), offset, &header, sizeof header)) return "";
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNotesBytes) continue;
    std::vector<char> notes(header.p_filesz);
    if (!read_at(file.get(), header.p_offset, notes.data(), notes.size())) return "";
    if (std::string id = id_among(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace hearth
