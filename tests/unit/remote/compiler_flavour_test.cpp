// What a node's compiler is: the worker's content, and the identities of its libraries.
#include "daemon/remote/compiler_flavour.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/elf_build_id.h"
#include "tests/unit/cache/temp_dir.h"

namespace hearth::daemon {
namespace {

struct Flavours {
  // Of a worker and libraries, read at once; nothing where there is none.
  std::optional<Digest> of(const std::string& worker, std::vector<std::string> libraries) {
    CompilerFlavour flavour(worker, [](const auto& task) { task(); });
    std::optional<Digest> found;
    bool is_told = false;
    flavour.when_known([&](const std::optional<Digest>& known) {
      found = known;
      is_told = true;
    });
    libraries.push_back(worker);
    flavour.mapped(libraries);
    CHECK(is_told);
    return found;
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }
  std::string copy_of_this_program(const std::string& name, const std::string& more) {
    std::filesystem::copy_file("/proc/self/exe", dir / name);
    std::ofstream(dir / name, std::ios::app) << more;
    return dir / name;
  }
  cache::testing::TempDir dir;
};

TEST_CASE("the flavour is of contents, whatever the files are called", "[remote]") {
  Flavours f;
  const auto flavour = f.of(f.file("worker", "w"), {f.file("a", "1"), f.file("b", "2")});
  REQUIRE(flavour);
  CHECK(f.of(f.file("other", "w"), {f.file("y", "2"), f.file("x", "1")}) == flavour);
  CHECK(f.of(f.file("worker", "v"), {f.file("a", "1"), f.file("b", "2")}) != flavour);
  CHECK(f.of(f.file("worker", "w"), {f.file("a", "1"), f.file("b", "3")}) != flavour);
  CHECK(f.of(f.file("worker", "w"), {f.file("a", "1")}) != flavour);
}

TEST_CASE("libraries are known by their linker's id, the worker by its content", "[remote]") {
  Flavours f;
  const std::string library = f.copy_of_this_program("library", ""), same_id = f.copy_of_this_program("same", "more");
  const std::string id = elf_build_id(library);
  REQUIRE(id.size() >= 8);
  CHECK(elf_build_id(same_id) == id);
  const std::string worker = f.file("worker", "w");
  CHECK(f.of(worker, {library}) == f.of(worker, {same_id}));
  CHECK(f.of(library, {worker}) != f.of(same_id, {worker}));
}

TEST_CASE("a file that is no ELF file, or is cut short, has no linker's id", "[remote]") {
  Flavours f;
  CHECK(elf_build_id(f.dir / "none").empty());
  CHECK(elf_build_id(f.file("text", "#!/bin/sh")).empty());
  const std::string whole = f.copy_of_this_program("whole", "");
  for (const std::uintmax_t size : {1u, 63u, 64u, 100u, 300u}) {
    std::filesystem::resize_file(whole, size);
    CHECK(elf_build_id(whole).empty());
  }
}

TEST_CASE("there is no flavour once a library was replaced, or where a file is gone", "[remote]") {
  Flavours f;
  const std::string worker = f.file("worker", "w"), library = f.file("library", "1");
  CompilerFlavour flavour(worker, [](const auto& task) { task(); });
  flavour.mapped({library, worker});
  int told = 0;
  const auto count = [&](const std::optional<Digest>& known) { told += known ? 1 : 100; };
  flavour.when_known(count);
  flavour.mapped({library, worker});  // another worker
  flavour.when_known(count);
  CHECK(told == 2);
  std::filesystem::remove(library);
  f.file("library", "22");
  flavour.mapped({library, worker});
  flavour.when_known(count);
  CHECK(told == 102);
  CHECK_FALSE(f.of(worker, {f.dir / "gone"}));
}

}  // namespace
}  // namespace hearth::daemon
