// The reader of object files: hostile bytes are an error, never a crash.
#include "blobs/tools/elf_exports.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>

#include "blobs/tools/elf_file.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

TEST_CASE("Exports of a real object, by prefix with its length") {
  const Place place;
  BlobSpec spec = place.spec();
  REQUIRE(place.compile(spec).ok());
  const std::string bytes = place.read("work/x.so");
  CHECK(check_blob_object(bytes, {kExport}, {}).ok());
  CHECK(absl::IsDataLoss(check_blob_object(bytes, {"_Z9hearth_f_Id"}, {})));
  CHECK(absl::IsDataLoss(check_blob_object(bytes, {kExport}, {"gfx942"})));
  const auto object = read_elf_object(bytes);
  REQUIRE(object.ok());
  CHECK(object->functions == std::vector<std::string>{"_Z9hearth_f_IfET_S0_"});
  CHECK_FALSE(object->has_fat_binary);
}

TEST_CASE("Truncated and damaged objects") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  const std::string bytes = place.read("work/x.so");
  for (std::size_t size = 0; size < bytes.size(); size += 61)
    CHECK_FALSE(check_blob_object(bytes.substr(0, size), {kExport}, {}).ok());
  // Any byte may be anything: the answer may be yes or no, but there is one.
  std::uint32_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 8; ++i) {
      state = state * 1664525 + 1013904223;
      const std::size_t at = i % 2 == 0 ? state % damaged.size() : damaged.size() - 1 - (state >> 8) % 2048;
      damaged[at] = static_cast<char>(state >> 24);
    }
    (void)check_blob_object(damaged, {kExport}, {"gfx942"}).ok();
  }
  CHECK_FALSE(check_blob_object("", {}, {}).ok());
}

TEST_CASE("An object for another machine") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  std::string bytes = place.read("work/x.so");
  bytes[18] = 40;  // e_machine: ARM
  const absl::Status status = check_blob_object(bytes, {kExport}, {});
  CHECK(absl::IsDataLoss(status));
  says(status, "another machine");
}

TEST_CASE("What is not as asked for is told apart: no ELF, another type, a cut table, a name outside") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  const std::string bytes = place.read("work/x.so");
  const auto told = [](std::string_view part, Elf64_Half type, const std::string& words) {
    const auto file = ElfFile::open(part, type);
    CHECK(absl::IsDataLoss(file.status()));
    says(file.status(), words);
  };
  REQUIRE(ElfFile::open(bytes, ET_DYN).ok());
  told("#!/bin/sh\n", ET_DYN, "is not an ELF file");
  told(bytes, ET_REL, "is not a relocatable object");
  told(std::string_view(bytes).substr(0, bytes.size() - 1), ET_DYN, "its section table is outside the file");
  std::string odd = bytes;
  odd[offsetof(Elf64_Ehdr, e_shentsize)] = 56;
  told(odd, ET_DYN, "section headers of 56 bytes");
  CHECK(ElfFile::open(bytes, ET_DYN)->section(".dynsym")->has_value());
  CHECK_FALSE(ElfFile::open(bytes, ET_DYN)->section(".none")->has_value());
  // Each symbol's name put outside of the names, in turn.
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  int tables = 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    ++tables;
    odd = bytes;
    const Elf64_Word far = 0x7fffffff;
    std::memcpy(odd.data() + section.sh_offset + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name), &far, sizeof far);
    const auto symbols = ElfFile::open(odd, ET_DYN)->symbols(SHT_DYNSYM);
    CHECK(absl::IsDataLoss(symbols.status()));
    says(symbols.status(), "a symbol whose name is outside");
  }
  CHECK(tables == 1);
}

TEST_CASE("The number of sections may be in the first section's header, for files with very many") {
  const Place place;
  REQUIRE(place.compile(place.spec()).ok());
  std::string bytes = place.read("work/x.so");
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  const Elf64_Xword sections = header.e_shnum;
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + header.e_shoff + offsetof(Elf64_Shdr, sh_size), &sections, sizeof sections);
  CHECK(check_blob_object(bytes, {kExport}, {}).ok());
  const Elf64_Xword hostile = ~Elf64_Xword{0};
  std::memcpy(bytes.data() + header.e_shoff + offsetof(Elf64_Shdr, sh_size), &hostile, sizeof hostile);
  CHECK(absl::IsDataLoss(check_blob_object(bytes, {kExport}, {})));
}
