// Bundles and code objects that are broken in every way that a length or an offset can be.
#include "code_object.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hip_stand_in {
namespace {

const std::string kDevice = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-";

void put(std::string* bytes, std::uint64_t value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A bundle of one entry that says it is at `offset`, `size` long, with an id of `id_size` bytes.
std::string bundle(std::uint64_t count, std::uint64_t offset, std::uint64_t size, std::uint64_t id_size,
                   const std::string& content) {
  std::string bytes = "__CLANG_OFFLOAD_BUNDLE__";
  put(&bytes, count);
  put(&bytes, offset);
  put(&bytes, size);
  put(&bytes, id_size);
  return bytes + kDevice + content;
}

// An ELF file with one note segment.
std::string elf_with_note(std::uint32_t type, const std::string& description) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  Elf64_Nhdr note{7, static_cast<std::uint32_t>(description.size()), type};
  std::string content(reinterpret_cast<const char*>(&note), sizeof note);
  content += std::string("AMDGPU\0\0", 8) + description;
  segment.p_filesz = content.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&segment), sizeof segment) + content;
}

std::string message_pack(const nlohmann::json& value) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(value);
  return std::string(bytes.begin(), bytes.end());
}

KernelArguments kernels(const std::string& code_object, std::string* error) {
  return read_kernels(reinterpret_cast<const unsigned char*>(code_object.data()), code_object.size(), error);
}

TEST_CASE("a bundle gives its entries", "[hip_stand_in]") {
  std::string error;
  const std::uint64_t start = 24 + 4 * 8 + kDevice.size();
  const std::string bytes = bundle(1, start, 5, kDevice.size(), "bytes");
  const auto entries = read_bundle(bytes.data(), bytes.size(), &error);
  REQUIRE(entries.size() == 1);
  CHECK(error.empty());
  CHECK(std::string(reinterpret_cast<const char*>(entries[0].data), entries[0].size) == "bytes");
  CHECK(target_of(entries[0].id) == "gfx90a:xnack-");
  CHECK(target_of("host-x86_64-unknown-linux--").empty());
  CHECK(target_of("hipv4-amdgcn-amd-amdhsa-").empty());
}

TEST_CASE("a broken bundle gives an error", "[hip_stand_in]") {
  const std::uint64_t start = 24 + 4 * 8 + kDevice.size();
  const std::string broken[] = {
      "",
      "CCOB compressed",
      "__CLANG_OFFLOAD_BUNDLE__",
      bundle(std::uint64_t{1} << 60, start, 5, kDevice.size(), "bytes"),
      bundle(2, start, 5, kDevice.size(), ""),
      bundle(1, start, 6, kDevice.size(), "bytes"),
      bundle(1, ~std::uint64_t{0}, 5, kDevice.size(), "bytes"),
      bundle(1, start, ~std::uint64_t{0}, kDevice.size(), "bytes"),
      bundle(1, start, 5, ~std::uint64_t{0} - 8, "bytes"),
  };
  for (const std::string& bytes : broken) {
    std::string error;
    read_bundle(bytes.data(), bytes.size(), &error);
    CHECK_FALSE(error.empty());
  }
}

TEST_CASE("a code object's metadata gives the arguments that a launch passes", "[hip_stand_in]") {
  const nlohmann::json metadata = {{"amdhsa.kernels",
                                    {{{".name", "one"},
                                      {".args",
                                       {{{".size", 8}, {".value_kind", "global_buffer"}},
                                        {{".size", 200}, {".value_kind", "by_value"}},
                                        {{".size", 8}, {".value_kind", "hidden_global_offset_x"}}}}},
                                     {{".name", "none"}}}}};
  std::string error;
  const KernelArguments found = kernels(elf_with_note(32, message_pack(metadata)), &error);
  CHECK(error.empty());
  CHECK(found == KernelArguments{{"none", {}}, {"one", {8, 200}}});
}

TEST_CASE("a broken code object gives an error", "[hip_stand_in]") {
  const std::string good = elf_with_note(32, message_pack({{"amdhsa.kernels", nlohmann::json::array()}}));
  const auto with_word = [&](std::size_t at, std::uint64_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  const std::string broken[] = {
      "",
      "not ELF, but long enough to be the header of one: sixty-four bytes",
      good.substr(0, 70),                                                 // cut in the program header
      good.substr(0, good.size() - 4),                                    // cut in the note
      with_word(offsetof(Elf64_Ehdr, e_phoff), ~std::uint64_t{0} - 4),    // outside of the file
      with_word(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), 4),  // no room for a note
      with_word(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), ~std::uint64_t{0}),
      elf_with_note(1, "of another kind"),
      elf_with_note(32, "\xc1 is no message pack"),
      elf_with_note(32, message_pack({{"amdhsa.kernels", {{{".symbol", "nameless"}}}}})),
  };
  for (const std::string& bytes : broken) {
    std::string error;
    CHECK(kernels(bytes, &error).empty());
    CHECK_FALSE(error.empty());
  }
}

}  // namespace
}  // namespace hip_stand_in
