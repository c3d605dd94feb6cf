// The quick rebuild's state survives a move of the temporary folder, and says what is wrong with it.
#include "blobs/tools/quick_state.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

QuickState state_of(const std::string& folder) {
  return {.library = "libmha_fwd",
          .out_so = folder + "/jit/libmha_fwd.so",
          .all_objs = {folder + "/jit/a.o", "/elsewhere/b.o", folder + "x/c.o"},
          .arch_fl = {"--offload-arch=gfx942"},
          .link_args = {"-shared", kObjectsMark, "-L" + folder + "/rocm/lib", "-Wl,-rpath," + folder},
          .tool = "c++",
          .cwd = folder + "/jit",
          .digests = {{folder + "/jit/a.o", "12ab"}}};
}

TEST_CASE("paths below the temporary folder follow it; others stay") {
  Scratch scratch;
  const std::string here = scratch / "here", there = scratch / "there";
  std::filesystem::create_directories(here + "/libmha_fwd");
  REQUIRE(write_quick_state(state_of(here), here).ok());
  const std::string text = runtime::read_file(here + "/libmha_fwd/ck_jit_quick_rebuild.json").value();
  CHECK_THAT(text, Catch::Contains("\"{jit}/jit/libmha_fwd.so\"") && !Catch::Contains("\"" + here + "/"));
  std::filesystem::rename(here, there);
  const auto state = read_quick_state(there, "libmha_fwd");
  REQUIRE(state.ok());
  QuickState wanted = state_of(there);
  wanted.all_objs[2] = here + "x/c.o";  // another folder whose name begins alike
  CHECK(state->out_so == wanted.out_so);
  CHECK(state->all_objs == wanted.all_objs);
  CHECK(state->arch_fl == wanted.arch_fl);
  CHECK(state->link_args == wanted.link_args);
  CHECK(state->tool == wanted.tool);
  CHECK(state->cwd == wanted.cwd);
  CHECK(state->digests == wanted.digests);
}

TEST_CASE("an object of another build than the last that ended is named with the remedy") {
  Scratch scratch;
  QuickState state = state_of(scratch.path());
  const std::string object = scratch / "a.o", list = scratch / "manifest.json";
  REQUIRE(runtime::write_file(object, {"object"}).ok());
  REQUIRE(runtime::write_file(list, {"list"}).ok());
  REQUIRE(digest_files({object, list}, &state).ok());
  CHECK(check_files(state).ok());
  REQUIRE(runtime::write_file(list, {"lisT"}).ok());
  const absl::Status changed = check_files(state);
  CHECK(changed.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(changed.message()), Catch::Contains(list) && Catch::Contains("hearth blobs build full"));
  std::filesystem::remove(object);
  CHECK_THAT(std::string(check_files(state).message()),
             Catch::Contains(object) && Catch::Contains("hearth blobs build full"));
}

TEST_CASE("a state that is missing, broken or of another version is told with the remedy") {
  Scratch scratch;
  std::filesystem::create_directories(scratch / "libmha_fwd");
  const std::string file = scratch / "libmha_fwd/ck_jit_quick_rebuild.json";
  const auto told = [&] { return std::string(read_quick_state(scratch.path(), "libmha_fwd").status().message()); };
  CHECK_THAT(told(), Catch::Contains(file) && Catch::Contains("run `hearth blobs build full` first"));
  REQUIRE(runtime::write_file(file, {"{\"hearth_quick_rebuild\": 2, \"library\": \"libmha_fwd\"}"}).ok());
  CHECK_THAT(told(), Catch::Contains("out_so") && Catch::Contains("build full"));
  REQUIRE(runtime::write_file(file, {"{\"hearth_quick_rebuild\": 5}"}).ok());
  CHECK(read_quick_state(scratch.path(), "libmha_fwd").status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(told(), Catch::Contains("version 5") && Catch::Contains("version 2"));
  REQUIRE(runtime::write_file(file, {"nonsense"}).ok());
  CHECK_THAT(told(), Catch::Contains("is not a quick rebuild's state"));
  QuickState state = state_of(scratch.path());
  state.link_args = {"-shared"};
  REQUIRE(write_quick_state(state, scratch.path()).ok());
  CHECK_THAT(told(), Catch::Contains("link_args has not one {objs}"));
}

}  // namespace
}  // namespace hearth::blobs
