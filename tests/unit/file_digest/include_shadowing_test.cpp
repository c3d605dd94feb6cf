// Every file that an include could have found instead of a used one is a shadowing file, wherever it lies.
#include "base/file_digest/include_shadowing.h"

#include <catch2/catch.hpp>

#include "tests/unit/file_digest/files.h"

namespace hearth::files {
namespace {

TEST_CASE("shadowing: files an include could have found, wherever it looks") {
  TestFolder folder;
  const std::string root = folder / "root";
  write(root + "/src/x.cpp", "");
  write(root + "/include/ck/core/a.h", "");
  const Compile compile{.root = root,
                        .source = "src/x.cpp",
                        .flags = {"-O2", "-I{root}/first", "-isystem", "{root}/include", "-Irelative"}};
  const std::vector<std::string> used = {"{root}/src/x.cpp", "{root}/include/ck/core/a.h",
                                         "/usr/include/c++/12/vector"};
  const auto now = [&] {
    FileDigestCache files;
    return shadowing_files(compile, used, files);
  };
  CHECK(now().empty());
  write(root + "/first/other.h", "");
  write(root + "/unseen/a.h", "");
  CHECK(now().empty());
  // <ck/core/a.h>, "core/a.h" beside the source, "a.h" beside a header, <vector>
  std::vector<std::string> expected;
  for (const char* path : {"first/ck/core/a.h", "include/vector", "src/core/a.h"}) {
    write(root + "/" + path, "");
    expected.push_back(std::string("{root}/") + path);
    CHECK(now() == expected);
  }
}

TEST_CASE("shadowing: they are found in a folder of more names than are listed") {
  TestFolder folder;
  const std::string root = folder / "root";
  write(root + "/x.cpp", "");
  write(root + "/include/ck/a.h", "");
  for (std::size_t i = 0; i <= FileDigestCache::kMaxNames; ++i) write(root + "/first/n" + std::to_string(i), "");
  const auto now = [&] {
    FileDigestCache files;
    return shadowing_files({.root = root, .source = "x.cpp", .flags = {"-I{root}/first", "-I{root}/include"}},
                           {"{root}/x.cpp", "{root}/include/ck/a.h"}, files);
  };
  CHECK(now().empty());
  write(root + "/first/ck/a.h", "");
  CHECK(now() == std::vector<std::string>{"{root}/first/ck/a.h"});
  write(root + "/first/a.h", "");
  CHECK(now() == std::vector<std::string>{"{root}/first/a.h", "{root}/first/ck/a.h"});
}

TEST_CASE("shadowing: every way to name a folder of the search") {
  TestFolder folder;
  const std::string root = folder / "root";
  write(root + "/x.cpp", "");
  write(root + "/used/a.h", "");
  const auto with = [&](std::vector<std::string> flags) {
    FileDigestCache files;
    return shadowing_files({.root = root, .source = "x.cpp", .flags = std::move(flags)}, {"{root}/used/a.h"}, files);
  };
  write(folder / "other/a.h", "");
  const std::string other = folder / "other";
  const std::vector<std::string> expected = {other + "/a.h"};
  CHECK(with({}).empty());
  for (const std::string name : {"-I", "-iquote", "-isystem", "-idirafter", "-cxx-isystem"}) {
    CHECK(with({name + other}) == expected);
    CHECK(with({name, other}) == expected);
    CHECK(with({name, other + "/./"}) == expected);
  }
  CHECK(with({"-I"}).empty());
  CHECK(with({"-D" + other}).empty());
  // The kernel's way through a link, not the words': link/.. is where it leads to.
  write(folder / "far/sub/b.h", "");
  write(folder / "far/quiet/a.h", "");
  std::filesystem::create_directory_symlink(folder / "far/sub", root + "/link");
  CHECK(with({"-I{root}/link/../quiet"}) == std::vector<std::string>{"{root}/link/../quiet/a.h"});
}

TEST_CASE("shadowing: beside a used header outside of the root too, for it may quote another") {
  TestFolder folder;
  write(folder / "root/x.cpp", "");
  write(folder / "outside/outer.h", "");
  write(folder / "root/include/inner.h", "");
  const Compile compile{.root = folder / "root", .source = "x.cpp", .flags = {"-I{root}/include"}};
  const std::vector<std::string> used = {folder / "outside/outer.h", "{root}/include/inner.h"};
  FileDigestCache files;
  CHECK(shadowing_files(compile, used, files).empty());
  write(folder / "outside/inner.h", "");
  CHECK(shadowing_files(compile, used, files) == std::vector<std::string>{folder / "outside/inner.h"});
}

TEST_CASE("shadowing: what was looked into is watched, also a folder that is not there yet") {
  TestFolder folder;
  const std::string root = folder / "root";
  write(root + "/x.cpp", "");
  write(root + "/include/ck/a.h", "");
  FileDigestCache files;
  FileSnapshot watched;
  const Compile compile{.root = root, .source = "x.cpp", .flags = {"-I{root}/include", "-I{root}/later"}};
  CHECK(shadowing_files(compile, {"{root}/include/ck/a.h"}, files, &watched).empty());
  CHECK(watched.unchanged());
  std::filesystem::create_directory(root + "/later");
  CHECK_FALSE(watched.unchanged());
}

TEST_CASE("shadowing: one that came since a moment") {
  TestFolder folder;
  write(folder / "a.h", "");
  const std::int64_t moment = file_clock_tick();
  const std::vector<std::string> both = {"{root}/a.h", "{root}/b.h"};
  CHECK_FALSE(any_since(moment, both, folder.path()));
  write(folder / "b.h", "");
  CHECK(any_since(moment, both, folder.path()));
}

TEST_CASE("paths below the root: there and back") {
  CHECK(with_root("{root}/x", "/r") == "/r/x");
  CHECK(with_root("/x", "/r") == "/x");
  CHECK(without_root("/r/x", "/r") == "{root}/x");
  CHECK(without_root("/rest/x", "/r") == "/rest/x");
}

}  // namespace
}  // namespace hearth::files
