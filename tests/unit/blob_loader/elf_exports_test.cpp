#include "blobs/loader/elf_exports.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "blob_place.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;

namespace {

const std::vector<std::string> kBothNames = {"_Z5leaf_I", "_Z14leaf_get_name_I"};
constexpr int kDataLossCode = 15;

BlobError refusal(const std::string& bytes, const std::vector<std::string>& prefixes = kBothNames) {
  return error_of([&] { find_exports(bytes, "x.so", prefixes); });
}

}  // namespace

TEST_CASE("the exports are found by their prefixes, weak functions are not") {
  const std::string bytes = read_file(module("test_blob"));
  // Mangled by hand, after the Itanium C++ ABI: leaf_<Trait<1>>(int const&, Args).
  const std::vector<std::string> names = find_exports(bytes, "x.so", {"_Z5leaf_I"});
  CHECK(names == std::vector<std::string>{"_Z5leaf_I5TraitILi1EEEiRKi4Args"});
  CHECK(find_exports(bytes, "x.so", kBothNames).size() == 2);
  // weak_<char> is in the table of symbols too.
  const BlobError weak = refusal(bytes, {"_Z5weak_I"});
  CHECK(weak.code() == kDataLossCode);
  CHECK_THAT(weak.what(), Contains("_Z5weak_I") && Contains("_Z5leaf_I5TraitILi1EEEiRKi4Args"));
}

TEST_CASE("missing and ambiguous exports are named") {
  CHECK_THAT(refusal(read_file(module("test_blob_hidden"))).what(),
             Contains("_Z5leaf_I") && Contains("fvisibility=hidden"));
  CHECK_THAT(refusal(read_file(module("test_blob_weak")), {"_Z10leaf_weak_I"}).what(), Contains("unrelated"));
  const BlobError two = refusal(read_file(module("test_blob_ambiguous")));
  CHECK(two.code() == kDataLossCode);
  CHECK_THAT(two.what(), Contains("more than one") && Contains("5TraitILi1EE") && Contains("5TraitILi2EE"));
}

TEST_CASE("what is not such an object is refused by what it is") {
  const std::string good = read_file(module("test_blob"));
  CHECK_THAT(refusal("").what(), Contains("truncated"));
  CHECK_THAT(refusal(std::string(4096, 'x')).what(), Contains("not an ELF"));
  const auto with = [&good](std::size_t at, int value) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(value);
    return bytes;
  };
  CHECK_THAT(refusal(with(EI_CLASS, ELFCLASS32)).what(), Contains("64-bit"));
  CHECK_THAT(refusal(with(offsetof(Elf64_Ehdr, e_type), ET_REL)).what(), Contains("shared object"));
  CHECK_THAT(refusal(with(offsetof(Elf64_Ehdr, e_machine), EM_RISCV)).what(), Contains("processor"));
}

TEST_CASE("no truncation and no damaged byte makes it read outside of the file") {
  const std::string good = read_file(module("test_blob"));
  int refused = 0;
  for (std::size_t size = 0; size < good.size(); size += 97) {
    const BlobError error = refusal(good.substr(0, size));
    refused += error.code() == kDataLossCode;
  }
  CHECK(refused > 20);  // all before the tables' end; the end of a file holds only section headers
  // Under AddressSanitizer a read outside of this exact copy would be seen.
  for (std::size_t at = 0; at < std::min<std::size_t>(good.size(), 4096); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bytes = good;
      bytes[at] = value;
      const BlobError error = refusal(bytes);
      if (error.code() != 0) CHECK(error.code() == kDataLossCode);
    }
  }
}
