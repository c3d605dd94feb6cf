#include "code_object.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hip_stand_in {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint64_t kMostEntries = 64;
constexpr std::uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA

// A bounds-checked look at memory.
class View {
 public:
  View(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}

  template <typename T>
  bool read(std::uint64_t at, T* value) const {
    if (!has(at, sizeof *value)) return false;
    std::memcpy(value, data_ + at, sizeof *value);
    return true;
  }
  bool has(std::uint64_t at, std::uint64_t size) const { return at <= size_ && size <= size_ - at; }
  const unsigned char* at(std::uint64_t offset) const { return data_ + offset; }

 private:
  const unsigned char* data_;
  std::size_t size_;
};

std::uint64_t rounded_up(std::uint64_t value) { return (value + 3) & ~std::uint64_t{3}; }

KernelArguments kernels_of(const nlohmann::json& metadata) {
  KernelArguments kernels;
  for (const auto& kernel : metadata.at("amdhsa.kernels")) {
    std::vector<std::size_t>& sizes = kernels[kernel.at(".name").get<std::string>()];
    for (const auto& argument : kernel.value(".args", nlohmann::json::array())) {
      if (argument.at(".value_kind").get<std::string>().starts_with("hidden_")) continue;
      sizes.push_back(argument.at(".size").get<std::size_t>());
    }
  }
  return kernels;
}

}  // namespace

std::vector<BundleEntry> read_bundle(const void* bytes, std::size_t size, std::string* error) {
  const View view(static_cast<const unsigned char*>(bytes), size);
  std::vector<BundleEntry> entries;
  std::uint64_t count = 0;
  if (!view.has(0, kMagic.size()) || std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0) {
    *error = "not a bundle of code objects (it may be compressed)";
    return entries;
  }
  std::uint64_t at = kMagic.size();
  if (!view.read(at, &count) || count > kMostEntries) {
    *error = "the bundle's number of entries is out of range";
    return entries;
  }
  at += sizeof count;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t header[3];  // offset, size, length of the id
    if (!view.read(at, &header) || !view.has(at + sizeof header, header[2]) || !view.has(header[0], header[1])) {
      *error = "entry " + std::to_string(i) + " of the bundle is outside of it";
      return entries;
    }
    at += sizeof header;
    entries.push_back({std::string(reinterpret_cast<const char*>(view.at(at)), header[2]), view.at(header[0]),
                       static_cast<std::size_t>(header[1])});
    at += header[2];
  }
  return entries;
}

std::string target_of(const std::string& id) {
  const std::size_t at = id.find("amdgcn-amd-amdhsa-");
  if (at == std::string::npos) return {};
  const std::size_t begin = id.find_first_not_of('-', at + std::strlen("amdgcn-amd-amdhsa"));
  return begin == std::string::npos ? std::string() : id.substr(begin);
}

KernelArguments read_kernels(const unsigned char* code_object, std::size_t size, std::string* error) {
  const View view(code_object, size);
  Elf64_Ehdr header;
  if (!view.read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    *error = "a code object is not ELF";
    return {};
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!view.read(header.e_phoff + i * sizeof segment, &segment)) break;
    if (segment.p_type != PT_NOTE || !view.has(segment.p_offset, segment.p_filesz)) continue;
    std::uint64_t at = segment.p_offset;
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    Elf64_Nhdr note;
    while (at + sizeof note <= end && view.read(at, &note)) {
      const std::uint64_t description = at + sizeof note + rounded_up(note.n_namesz);
      if (description + note.n_descsz > end) break;
      if (note.n_type == kMetadataNote) {
        const unsigned char* begin = view.at(description);
        try {
          return kernels_of(nlohmann::json::from_msgpack(begin, begin + note.n_descsz));
        } catch (const nlohmann::json::exception& e) {
          *error = std::string("a code object's metadata: ") + e.what();
          return {};
        }
      }
      at = description + rounded_up(note.n_descsz);
    }
  }
  *error = "a code object has no metadata";
  return {};
}

}  // namespace hip_stand_in
