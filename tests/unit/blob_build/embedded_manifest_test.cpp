// The embedded manifest is C++ that compiles; a program that is linked with it reads the manifest's own words back.
#include "blobs/tools/embedded_manifest.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

Manifest embedded_manifest_of() {
  Manifest manifest{.library = "libmha_fwd", .toolchain = kHipToolchain, .blobs = {}};
  for (const char* stem : {"fmha_fwd_a", "fmha_fwd_b", "fmha_fwd_c"})
    manifest.blobs.push_back({.stem = stem,
                              .family = "fmha_fwd",
                              .source = std::string("blob/") + stem + ".cpp",
                              .flags = {"-DX=\"a\\b?\?/\"", "-I{root}/\xc3\xa9"},
                              .archs = {"gfx942", "gfx950"},
                              .exports = {"_Z9fmha_fwd_I"}});
  manifest.blobs[1].flags = {};
  manifest.blobs[2].exports = {"_Z1I", "_Z2I"};
  return manifest;
}

constexpr char kPrinter[] = R"(
#include <cstdio>
#include "blobs/loader/hearth_blob.h"
extern const hearth::blob::Library hearth_blob_library;
int main() {
  const auto& l = hearth_blob_library;
  std::printf("%u %llx %s %s [%s] [%s]\n", l.version, (unsigned long long)l.list_digest, l.name, l.toolchain, l.default_root, l.default_name);
  for (auto a = l.archs; *a; ++a) std::printf("arch %s\n", *a);
  for (unsigned i = 0; i < l.num_blobs; ++i) {
    std::printf("%s %s\n", l.blobs[i].stem, l.blobs[i].source);
    for (auto f = l.flag_sets[l.blobs[i].flags]; *f; ++f) std::printf("flag %s\n", *f);
    for (auto e = l.blobs[i].exports; *e; ++e) std::printf("export %s\n", *e);
  }
})";

std::string compiled_and_run(const Manifest& manifest, const EmbeddedDefaults& defaults) {
  Scratch scratch;
  const EmbeddedManifest text = embedded_manifest(manifest, defaults);
  std::filesystem::create_directories(scratch / "blobs/loader");
  REQUIRE(runtime::write_file(scratch / "blobs/loader/hearth_blob.h", {kLoaderHeader}).ok());
  REQUIRE(runtime::write_file(scratch / "ck_jit_manifest_embedded.h", {text.header}).ok());
  REQUIRE(runtime::write_file(scratch / "m.cpp", {text.source}).ok());
  REQUIRE(runtime::write_file(scratch / "print.cpp", {kPrinter}).ok());
  const std::string command = "cd '" + scratch.path() +
                              "' && c++ -std=c++20 -Wall -Wextra -Werror -I. m.cpp print.cpp "
                              "-o print > log 2>&1 && ./print > out";
  const int code = std::system(command.c_str());
  INFO(runtime::read_file(scratch / "log").value_or(""));
  REQUIRE(code == 0);
  return runtime::read_file(scratch / "out").value();
}

// Version, and the digest of the list: sha256sum of "fmha_fwd_a\n\t_Z9fmha_fwd_I\n…" by hand.
const std::string kHead = "2 f92a5951b1f4b6c";

TEST_CASE("a program reads from the embedded manifest what the manifest says") {
  CHECK(
      compiled_and_run(embedded_manifest_of(), {.root = "../root \"x\"", .name = "te_ck_jit"}) ==
      kHead +
          " libmha_fwd hip [../root \"x\"] [te_ck_jit]\n"
          "arch gfx942\narch gfx950\n"
          "fmha_fwd_a blob/fmha_fwd_a.cpp\nflag -DX=\"a\\b?\?/\"\nflag -I{root}/\xc3\xa9\nexport _Z9fmha_fwd_I\n"
          "fmha_fwd_b blob/fmha_fwd_b.cpp\nexport _Z9fmha_fwd_I\n"
          "fmha_fwd_c blob/fmha_fwd_c.cpp\nflag -DX=\"a\\b?\?/\"\nflag -I{root}/\xc3\xa9\nexport _Z1I\nexport _Z2I\n");
}

TEST_CASE("a library without blobs compiles, too") {
  const Manifest none{.library = "libmha_bwd", .toolchain = kCxxToolchain, .blobs = {}};
  CHECK(compiled_and_run(none, {.root = "", .name = "ck_jit"}) == "2 e3b0c44298fc1c14 libmha_bwd c++ [] [ck_jit]\n");
}

TEST_CASE("literals keep every byte") {
  CHECK(cpp_literal("a\"\\?\n\x01") == "\"a\\\"\\\\\\077\\012\\001\"");
  CHECK(cpp_literal("\x01"
                    "7") == "\"\\0017\"");  // three digits: the 7 is not one of them
}

}  // namespace
}  // namespace hearth::blobs
