// The fake ROCm home: the real one's content, our programs for its compilers, and what its absence is told as.
#include "blobs/tools/fake_home.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/program_path.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/build.h"
#include "blobs/tools/staged_root.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

void write_program(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  REQUIRE(runtime::write_file(path, {text}).ok());
  fs::permissions(path, fs::perms::owner_all);
}

struct FakeHome {
  Scratch scratch;
  FakeHomeInput input;

  FakeHome() {
    for (const char* name : {"hipcc", "amdclang++", "rocminfo"})
      write_program(scratch / "real/bin/" + std::string(name), std::string("real ") + name);
    fs::create_directories(scratch / "real/include/hip");
    fs::create_directories(scratch / "real/.info");
    write_program(scratch / "hearth-hipcc", "ours");
    fs::create_directories(scratch / "T");
    input = {.folder = scratch / "T",
             .rocm_home = scratch / "real",
             .compiler = "",
             .toolchain = kHipToolchain,
             .hearth = "/x/hearth",
             .hipcc = scratch / "hearth-hipcc",
             .mapping = {{"/src", ""}},
             .default_root = "",
             .default_name = "ck_jit"};
  }
  std::string text(const std::string& name) { return runtime::read_file(scratch / name).value_or("(none)"); }
};

TEST_CASE("compilers are ours, everything else is the real home's; the real home is untouched, also the second time") {
  FakeHome place;
  for (int i = 0; i < 2; ++i) {
    const auto home = make_fake_home(place.input);
    REQUIRE(home.ok());
    CHECK(place.text("T/rocm/bin/hipcc") == "ours");
    CHECK(place.text("T/rocm/bin/amdclang++") == "ours");
    CHECK(place.text("T/rocm/bin/c++") == "ours");
    CHECK_FALSE(fs::exists(place.scratch / "T/rocm/bin/amdclang"));
    CHECK_FALSE(fs::is_symlink(place.scratch / "T/rocm/bin/hipcc"));  // build systems resolve links
    CHECK(place.text("T/rocm/bin/rocminfo") == "real rocminfo");
    CHECK(fs::read_symlink(place.scratch / "T/rocm/include") == place.scratch / "real/include");
    CHECK(fs::exists(place.scratch / "T/rocm/.info"));
    CHECK(place.text("real/bin/hipcc") == "real hipcc");
    CHECK(place.text("real/bin/amdclang++") == "real amdclang++");
    CHECK(home->config.compiler("hipcc") == std::vector<std::string>{place.scratch / "real/bin/hipcc"});
    CHECK(home->config.compiler("amdclang++") == std::vector<std::string>{place.scratch / "real/bin/amdclang++"});
    CHECK(home->environment.at("ROCM_PATH") == place.scratch / "T/rocm");
    CHECK(home->environment.at("ROCM_HOME") == place.scratch / "T/rocm");
    CHECK(home->environment.at("CXX") == place.scratch / "T/rocm/bin/c++");
    CHECK(home->environment.at("PATH").starts_with((place.scratch / "T/rocm/bin") + ":"));
    CHECK(home->config.environment.at("ROCM_PATH") == place.scratch / "real");
    const auto read = read_intercept_config(place.scratch / "T/rocm/.hearth/intercept.json");
    REQUIRE(read.ok());
    CHECK(read->compilers == home->config.compilers);
    CHECK(read->mapping == place.input.mapping);
    CHECK(read->environment == home->config.environment);
  }
}

TEST_CASE("a real c++ in the real home's bin is not written through a link") {
  FakeHome place;
  write_program(place.scratch / "real/bin/c++", "real c++");
  REQUIRE(make_fake_home(place.input).ok());
  CHECK(place.text("real/bin/c++") == "real c++");
  CHECK(place.text("T/rocm/bin/c++") == "ours");
}

TEST_CASE("CXX may be several words") {
  FakeHome place;
  setenv("CXX", ("sh '" + (place.scratch / "a b") + "'").c_str(), 1);
  const auto home = make_fake_home(place.input);
  unsetenv("CXX");
  REQUIRE(home.ok());
  CHECK(home->config.compiler("c++") == std::vector<std::string>{*runtime::find_on_path("sh"), place.scratch / "a b"});
}

TEST_CASE("what is missing is told by name with the remedy") {
  const auto told = [](const FakeHome& place) { return std::string(make_fake_home(place.input).status().message()); };
  FakeHome none;
  none.input.rocm_home = none.scratch / "nowhere";
  CHECK_THAT(told(none), Catch::Contains("nowhere: is not a folder") && Catch::Contains("--rocm-home"));
  FakeHome compiler;
  compiler.input.compiler = "no-such-compiler";
  CHECK_THAT(told(compiler), Catch::Contains("compiler no-such-compiler") && Catch::Contains("--compiler"));
  FakeHome ours;
  ours.input.hipcc = ours.scratch / "nowhere";
  CHECK_THAT(told(ours), Catch::Contains("hearth-hipcc: not found"));
  FakeHome linker;
  setenv("CXX", "no-such-linker", 1);
  CHECK_THAT(told(linker), Catch::Contains("no-such-linker") && Catch::Contains("CXX"));
  unsetenv("CXX");
  FakeHome old;
  fs::create_directories(old.scratch / "T/rocm/.hearth");
  REQUIRE(runtime::write_file(old.scratch / "T/rocm/.hearth/intercept.json", {"{\"hearth_intercept\": 0}"}).ok());
  CHECK(make_fake_home(old.input).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(told(old), Catch::Contains("version 0") && Catch::Contains("--tmp-dir"));
}

TEST_CASE("a staged root merges folders of the mapping and follows a move of the temporary folder") {
  Scratch scratch;
  for (const char* name : {"aiter/csrc/include", "aiter/aiter/jit/old", "aiter/aiter/ops", "T/jit/build"})
    fs::create_directories(scratch / name);
  const std::vector<std::pair<std::string, std::string>> mapping = {{scratch / "aiter", ""},
                                                                    {scratch / "T/jit", "aiter/jit"}};
  write_program(scratch / "bin/hearth-blobc", "blobc");
  for (int i = 0; i < 2; ++i) {
    REQUIRE(stage_root(mapping, scratch / "T/ck_jit", scratch / "bin").ok());
    CHECK(fs::is_directory(scratch / "T/ck_jit/csrc/include"));
    CHECK(runtime::read_file(scratch / "T/ck_jit/hearth-blobc").value() == "blobc");
    CHECK(fs::is_directory(scratch / "T/ck_jit/aiter/ops"));
    CHECK(fs::is_directory(scratch / "T/ck_jit/aiter/jit/build"));
    CHECK_FALSE(fs::exists(scratch / "T/ck_jit/aiter/jit/old"));
  }
  CHECK(fs::is_directory(scratch / "aiter/aiter/jit/old"));  // making it anew removed links only
  fs::rename(scratch / "T", scratch / "U");
  CHECK(fs::is_directory(scratch / "U/ck_jit/aiter/jit/build"));
}

TEST_CASE("a build's bad input is told by the option's name") {
  Scratch scratch;
  const auto told = [](const FullBuildInput& input) { return std::string(build_full(input).status().message()); };
  const auto quick = [](const std::string& folder) {
    QuickBuildInput input;
    input.tmp_dir = folder;
    return std::string(build_quick(input).status().message());
  };
  FullBuildInput input;
  input.aiter_dir = scratch.path();
  input.gpu_archs = "gfx942";
  CHECK_THAT(told(input), Catch::Contains("op_tests/cpp/mha/compile.py") && Catch::Contains("--aiter-dir"));
  write_program(scratch / "op_tests/cpp/mha/compile.py", "");
  input.gpu_archs = "gfx942,gfx950";
  CHECK_THAT(told(input), Catch::Contains("--gpu-archs") && Catch::Contains("semicolons"));
  input.gpu_archs = "gfx942";
  input.python = "no-such-python";
  CHECK_THAT(told(input), Catch::Contains("--python no-such-python"));
  input.python = "sh";
  input.toolchain = "cuda";
  CHECK_THAT(told(input), Catch::Contains("--toolchain cuda"));
  CHECK_THAT(quick(scratch / "none"), Catch::Contains("--tmp-dir") && Catch::Contains("none"));
  CHECK_THAT(quick(scratch.path()), Catch::Contains("intercept.json") && Catch::Contains("full build"));
}

}  // namespace
}  // namespace hearth::blobs
