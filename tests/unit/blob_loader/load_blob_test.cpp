#include "runtime/blob_loader/loaded_blob.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "blob_place.h"
#include "tests/support/skip.h"

using Catch::Contains;
using namespace hearth::blob;
using namespace hearth::blob::test;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kBoth = {"_Z5leaf_I", "_Z14leaf_get_name_I"};

fs::path copied(const BlobPlace& place, const std::string& name) {
  const fs::path path = place.folder / (name + ".so");
  fs::copy_file(module(name), path);
  return path;
}

}  // namespace

TEST_CASE("a blob is loaded and its exports called, also one that gives a string") {
  BlobPlace place;
  const std::vector<void*> functions = load_blob(copied(place, "test_blob"), kBoth);
  REQUIRE(functions.size() == 2);
  Args args{};
  args.values[39] = 5;
  CHECK(reinterpret_cast<Leaf>(functions[0])(3, args) == 15);
  CHECK(reinterpret_cast<GetName>(functions[1])() == "trait one");
}

TEST_CASE("links, folders, files that others can write and missing ones are refused") {
  BlobPlace place;
  const fs::path real = copied(place, "test_blob");
  fs::create_symlink(real, place.folder / "link.so");
  const BlobError link = error_of([&] { load_blob(place.folder / "link.so", kBoth); });
  CHECK(link.code() == 7);
  CHECK_THAT(link.what(), Contains("symbolic link"));
  const BlobError folder = error_of([&] { load_blob(place.folder, kBoth); });
  CHECK(folder.code() == 7);
  const BlobError missing = error_of([&] { load_blob(place.folder / "none.so", kBoth); });
  CHECK(missing.code() == 5);
  CHECK_THAT(missing.what(), Contains("none.so"));
  fs::permissions(real, fs::perms::others_write, fs::perm_options::add);
  const BlobError open = error_of([&] { load_blob(real, kBoth); });
  CHECK(open.code() == 7);
  CHECK_THAT(open.what(), Contains("written by other users"));
  const fs::path fifo = place.folder / "fifo.so";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(error_of([&] { load_blob(fifo, kBoth); }).code() == 7);  // and does not wait for a writer
}

TEST_CASE("a file of another user is refused") {
  BlobPlace place;
  const fs::path real = copied(place, "test_blob");
  if (geteuid() != 0) SKIP_CASE("not root: cannot give a file to another user");
  REQUIRE(chown(real.c_str(), 54321, 54321) == 0);
  const BlobError error = error_of([&] { load_blob(real, kBoth); });
  CHECK(error.code() == 7);
  CHECK_THAT(error.what(), Contains("belongs to user 54321") && Contains("CK_JIT_CACHE_DIR"));
}

TEST_CASE("the loader's own words are in the error") {
  BlobPlace place;
  const BlobError error = error_of([&] { load_blob(copied(place, "test_blob_unresolved"), kBoth); });
  CHECK(error.code() == 9);
  CHECK_THAT(error.what(), Contains("nowhere_defined"));
}

TEST_CASE("a truncated object is refused before the loader maps it") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob");
  fs::resize_file(path, 5000);
  const BlobError error = error_of([&] { load_blob(path, kBoth); });
  CHECK(error.code() == 15);
  CHECK_THAT(error.what(), Contains("truncated"));
}

TEST_CASE("after a refusal a better file at the same path is loaded") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob_hidden");
  CHECK(error_of([&] { load_blob(path, kBoth); }).code() == 15);
  fs::remove(path);
  fs::copy_file(module("test_blob"), path);
  CHECK(load_blob(path, kBoth).size() == 2);
}
