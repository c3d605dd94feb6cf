// The installation holds what blobs need and nothing that is not asked for; foreign folders are left alone.
#include "blobs/tools/install_tree.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text = "x") {
  fs::create_directories(fs::path(path).parent_path());
  REQUIRE(runtime::write_file(path, {text}).ok());
}

Manifest installed_manifest(const std::string& library, const std::string& stem) {
  return {.library = library,
          .toolchain = kCxxToolchain,
          .blobs = {{.stem = stem,
                     .family = "fmha_fwd",
                     .source = "aiter/jit/blob/" + stem + ".cpp",
                     .flags = {"-I{root}/inc", "-isystem", "{root}/inc/deep", "-I", "{root}/other", "-I{root}/missing",
                               "-DX={root}/never", "-I/usr/include"},
                     .archs = {},
                     .exports = {"_Z9fmha_fwd_I"}}}};
}

struct Place {
  Scratch scratch;
  InstallInput input;

  Place() {
    for (const char* name : {"root/inc/a.hpp", "root/inc/deep/b.h", "root/inc/README.md", "root/other/tuple",
                             "root/never/c.h", "root/aiter/jit/blob/mha.hpp", "root/aiter/jit/blob/fmha_fwd_a.cpp",
                             "root/aiter/jit/blob/fmha_bwd_a.cpp", "root/aiter/jit/blob/other.cpp", "bin/hearth-blobc",
                             "lib/libhearth_blob_client.so", "T/libmha_fwd.so", "T/libmha_bwd.so"})
      write(scratch / name, name);
    fs::create_directory_symlink("..", scratch / "root/inc/deep/loop");
    input.root = scratch / "root";
    input.install_dir = scratch / "install";
    input.hearth = scratch / "bin/hearth";
    for (const char* library : {"libmha_fwd", "libmha_bwd"}) {
      QuickState state;
      state.library = library;
      state.out_so = scratch / "T/" + std::string(library) + ".so";
      input.libraries.push_back(state);
    }
    input.manifests = {installed_manifest("libmha_fwd", "fmha_fwd_a"), installed_manifest("libmha_bwd", "fmha_bwd_a")};
  }
};

TEST_CASE("an installation has libraries, sources, headers, programs and one manifest; a second one replaces it") {
  Place place;
  for (int i = 0; i < 2; ++i) {
    const auto done = install_tree(place.input);
    REQUIRE(done.ok());
    CHECK(done->libraries == 2);
    CHECK(done->sources == 2);
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(place.scratch / "install"))
      if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(place.scratch / "install").string());
    std::sort(files.begin(), files.end());
    CHECK(files == std::vector<std::string>{
                       "ck_jit/adapters/fmha_fwd_host.toml", "ck_jit/aiter/jit/blob/fmha_bwd_a.cpp",
                       "ck_jit/aiter/jit/blob/fmha_fwd_a.cpp", "ck_jit/aiter/jit/blob/mha.hpp",
                       "ck_jit/ck_jit_compile.sh", "ck_jit/ck_jit_manifest.json", "ck_jit/ck_jit_prebuild.py",
                       "ck_jit/hearth-blobc", "ck_jit/inc/a.hpp", "ck_jit/inc/deep/b.h",
                       "ck_jit/libhearth_blob_client.so", "ck_jit/other/tuple", "libmha_bwd.so", "libmha_fwd.so"});
    const auto manifest = read_manifest(place.scratch / "install/ck_jit/ck_jit_manifest.json");
    REQUIRE(manifest.ok());
    CHECK(manifest->library == "libmha");
    CHECK(manifest->find("fmha_fwd_a") != nullptr);
    CHECK(manifest->find("fmha_bwd_a") != nullptr);
    write(place.scratch / "install/ck_jit/stale.hpp");
  }
}

TEST_CASE("an installation has the shipped adapters of its toolchain, as they are in the sources") {
  const fs::path shipped = fs::path(std::getenv("HEARTH_SOURCE_DIR")) / "blobs/tools/adapters";
  for (const char* toolchain : {kCxxToolchain, kHipToolchain}) {
    Place place;
    for (Manifest& manifest : place.input.manifests) manifest.toolchain = toolchain;
    REQUIRE(install_tree(place.input).ok());
    const fs::path installed = place.scratch / "install/ck_jit/adapters";
    int of_this = 0, of_another = 0;
    for (const auto& entry : fs::directory_iterator(shipped)) {
      const auto text = runtime::read_file(entry.path().string());
      REQUIRE(text.ok());
      const fs::path copy = installed / entry.path().filename();
      if (text->find("\ntoolchain = \"" + std::string(toolchain) + "\"\n") == std::string::npos) {
        ++of_another;
        CHECK_FALSE(fs::exists(copy));
      } else {
        ++of_this;
        CHECK(*runtime::read_file(copy.string()) == *text);
      }
    }
    // Today there is one adapter, for the host.
    CHECK((of_this > 0) == (std::string_view(toolchain) == kCxxToolchain));
    CHECK((of_another > 0) == (std::string_view(toolchain) == kHipToolchain));
  }
}

TEST_CASE("a ck_jit that is not ours is left alone") {
  Place place;
  write(place.scratch / "install/ck_jit/precious.txt");
  const auto done = install_tree(place.input);
  CHECK(done.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(done.status().message()), Catch::Contains("ck_jit") && Catch::Contains("--install-dir"));
  CHECK(fs::exists(place.scratch / "install/ck_jit/precious.txt"));
}

TEST_CASE("what is missing is told, and the old installation stays") {
  Place place;
  REQUIRE(install_tree(place.input).ok());
  fs::remove(place.scratch / "root/aiter/jit/blob/fmha_bwd_a.cpp");
  CHECK_THAT(std::string(install_tree(place.input).status().message()),
             Catch::Contains("fmha_bwd_a.cpp: is gone") && Catch::Contains("build full"));
  CHECK(fs::exists(place.scratch / "install/ck_jit/aiter/jit/blob/fmha_bwd_a.cpp"));
  CHECK_FALSE(fs::exists(place.scratch / "install/.ck_jit.new"));
  fs::remove(place.scratch / "bin/hearth-blobc");
  CHECK_THAT(std::string(install_tree(place.input).status().message()),
             Catch::Contains("hearth-blobc: there is no such"));
}

TEST_CASE("libraries of different toolchains or with one stem are not one manifest") {
  Manifest hip = installed_manifest("libmha_bwd", "fmha_bwd_a");
  hip.toolchain = kHipToolchain;
  CHECK_THAT(std::string(merge_manifests({installed_manifest("libmha_fwd", "fmha_fwd_a"), hip}).status().message()),
             Catch::Contains("libmha_fwd and libmha_bwd") && Catch::Contains("different toolchains"));
  CHECK_THAT(
      std::string(
          merge_manifests({installed_manifest("x", "fmha_a"), installed_manifest("y", "fmha_a")}).status().message()),
      Catch::Contains("fmha_a: is in two libraries"));
}

TEST_CASE("include folders are those of flags, the outer ones only") {
  CHECK(include_folders(installed_manifest("x", "fmha_a")) == std::vector<std::string>{"inc", "missing", "other"});
}

}  // namespace
}  // namespace hearth::blobs
