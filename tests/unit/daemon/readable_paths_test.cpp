#include "daemon/worker_pool/readable_paths.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

bool has(const Paths& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

bool has(const std::vector<ReadableTree>& trees, const std::string& path) {
  const std::string real = fs::canonical(path).native();
  return std::any_of(trees.begin(), trees.end(), [&](const ReadableTree& tree) { return tree.path == real; });
}

// A home with a cache and a library in it, and things elsewhere.
struct Machine {
  TestFolder folder;
  std::string home = folder / "home", cache = folder / "home/.cache/hearth", root = folder / "home/library";
  SecretFolders secrets{.cache = cache, .home = home};

  Machine() {
    for (const std::string& path :
         {cache, root + "/src", root + "/include", folder / "headers", folder / "linked/deep"})
      fs::create_directories(path);
    std::ofstream(root + "/src/a.cpp") << "";
  }
  v1::BlobSpec spec(const std::vector<std::string>& flags = {}) const {
    v1::BlobSpec spec;
    spec.set_stem("a");
    spec.set_root(root);
    spec.set_source("src/a.cpp");
    for (const std::string& flag : flags) spec.add_flags(flag);
    return spec;
  }
};

TEST_CASE("readable paths: of a blob its root, what its links lead to and what its flags name") {
  const Machine machine;
  fs::create_directory_symlink(machine.folder / "linked", machine.root + "/include/linked");
  const std::string headers = machine.folder / "headers", other = machine.folder / "linked/deep";
  const auto paths = blob_paths(machine.spec({"-I{root}/include", "-I" + headers, "-isystem", other, "-DX=/etc",
                                              "-I/nowhere", "--rocm-path=" + headers}),
                                machine.secrets);
  REQUIRE(paths.ok());
  CHECK(has(*paths, machine.root));
  CHECK(has(*paths, machine.folder / "linked"));
  CHECK(has(*paths, headers));
  CHECK(has(*paths, other));
  CHECK_FALSE(has(*paths, "/etc"));
  const auto is_headers = [&](const ReadableTree& tree) { return tree.path == headers; };
  CHECK(std::count_if(paths->begin(), paths->end(), is_headers) == 1);
}

TEST_CASE("readable paths: neither the cache nor the whole home is ever given") {
  const Machine machine;
  const auto paths = blob_paths(machine.spec({"-I" + machine.home, "-I/", "-I" + machine.cache,
                                              "-I" + machine.cache + "/x", "-I" + machine.home + "/../home"}),
                                machine.secrets);
  REQUIRE(paths.ok());
  for (const ReadableTree& tree : *paths) CHECK(tree.path.starts_with(machine.root));
  // Nor through a link.
  fs::create_directory_symlink(machine.home, machine.root + "/up");
  const auto linked = blob_paths(machine.spec(), machine.secrets);
  REQUIRE(linked.ok());
  for (const ReadableTree& tree : *linked) CHECK(tree.path.starts_with(machine.root));
  for (const std::string& root : {machine.home, machine.cache, std::string("/"), machine.folder.path()}) {
    v1::BlobSpec spec = machine.spec();
    spec.set_root(root);
    const absl::Status refused = blob_paths(spec, machine.secrets).status();
    CHECK(absl::IsInvalidArgument(refused));
    CHECK(std::string(refused.message()).find("'" + root + "' holds the daemon's cache or this user's home") !=
          std::string::npos);
  }
}

TEST_CASE("readable paths: a system account's home is no secret: compilers are there") {
  for (const char* home : {"/usr/sbin", "/bin", "/usr", "/usr/games/", "/lib"})
    CHECK(secret_folders("/cache", home).home.empty());
  for (const std::string home : {"/home/anna", "/root", "/usrlocal", "/var/lib/hearth"}) {
    CHECK(secret_folders("/cache", home).home == home);
    CHECK(secret_folders("/cache", home).cache == "/cache");
  }
}

TEST_CASE("readable tree: who opens it later gets what it was, or nothing") {
  const Machine machine;
  const std::string link = machine.folder / "link";
  fs::create_directory_symlink(machine.folder / "headers", link);
  const std::optional<ReadableTree> tree = identify_tree(link);
  REQUIRE(tree.has_value());
  CHECK(tree->path == machine.folder / "headers");
  REQUIRE(tree->links.size() >= 1);
  CHECK(tree->links.back().place == link);
  CHECK(open_tree(*tree));
  fs::remove(link);  // the link may lead elsewhere, which changes nothing
  fs::create_directory_symlink(machine.cache, link);
  CHECK(open_tree(*tree));
  fs::rename(machine.folder / "headers", machine.folder / "away");
  CHECK_FALSE(open_tree(*tree));
  fs::create_directory_symlink(machine.cache, machine.folder / "headers");  // a link where the folder was
  CHECK_FALSE(open_tree(*tree));
  fs::remove(machine.folder / "headers");
  fs::create_directory(machine.folder / "headers");  // another folder
  CHECK_FALSE(open_tree(*tree));
  fs::remove(machine.folder / "headers");
  fs::create_directory_symlink(machine.folder / "away", machine.folder / "headers");  // itself, but through a link
  CHECK_FALSE(open_tree(*tree));
  CHECK_FALSE(identify_tree(machine.folder / "nowhere").has_value());
}

TEST_CASE("readable tree: as an argument and back, whatever its names hold") {
  const ReadableTree tree{"/a: b/12:\n", 2049, 77, {{"/x:1:/y", "../3:z"}, {"/q", ""}}};
  const std::optional<ReadableTree> back = from_argument(to_argument(tree));
  REQUIRE(back.has_value());
  CHECK(*back == tree);
  const std::string whole = to_argument(tree);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::optional<ReadableTree> cut = from_argument(whole.substr(0, size));
    if (cut) CHECK(cut->links.size() < tree.links.size());  // an end between two links
  }
  for (const char* wrong : {"", "1", "1:2", "1:2:", "1:2:3:ab", "1:2:3:abc", "x:2:1:/", "1:2:1:/1", "-1:2:1:/"})
    CHECK_FALSE(from_argument(wrong).has_value());
}

TEST_CASE("readable paths: compilers on PATH and named by variables, with what they were installed with") {
  const Machine machine;
  const auto install = [&](const std::string& prefix) {
    for (const char* part : {"/bin", "/lib", "/share"}) fs::create_directories(prefix + part);
    std::ofstream(prefix + "/bin/cc") << "";
    return prefix;
  };
  const std::string elsewhere = install(machine.folder / "opt/compiler"), own = install(machine.home + "/.local");
  std::ofstream(machine.home + "/script") << "";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (own + "/bin:relative:" + machine.home).c_str(), 1);
  ::setenv("HEARTH_HIPCC", (elsewhere + "/bin/cc").c_str(), 1);
  ::setenv("HEARTH_BLOB_CXX", (machine.home + "/script").c_str(), 1);
  const Paths paths = compiler_paths(machine.secrets);
  ::setenv("PATH", path.c_str(), 1);
  ::unsetenv("HEARTH_HIPCC");
  ::unsetenv("HEARTH_BLOB_CXX");
  CHECK(has(paths, elsewhere));
  CHECK(has(paths, elsewhere + "/bin/cc"));
  CHECK(has(paths, own + "/bin"));
  CHECK(has(paths, own + "/lib"));
  CHECK_FALSE(has(paths, own));
  CHECK_FALSE(has(paths, own + "/share"));
  CHECK(has(paths, machine.home + "/script"));
  CHECK_FALSE(has(paths, machine.home));
}

}  // namespace
}  // namespace hearth::daemon
