#include "blobs/loader/loaded_blob.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "base/sha256.h"
#include "blob_place.h"
#include "blobs/loader/blob_sha256.h"
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

const std::string kNoDigest(64, '0');

// As what was compiled, whatever it is.
std::vector<void*> load(const fs::path& path) { return load_blob(path, sha256_of(path), kBoth); }

}  // namespace

TEST_CASE("a blob is loaded and its exports called, also one that gives a string") {
  BlobPlace place;
  const std::vector<void*> functions = load(copied(place, "test_blob"));
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
  const BlobError link = error_of([&] { load_blob(place.folder / "link.so", sha256_of(real), kBoth); });
  CHECK(link.code() == 7);
  CHECK_THAT(link.what(), Contains("symbolic link"));
  const BlobError folder = error_of([&] { load_blob(place.folder, kNoDigest, kBoth); });
  CHECK(folder.code() == 7);
  const BlobError missing = error_of([&] { load_blob(place.folder / "none.so", kNoDigest, kBoth); });
  CHECK(missing.code() == 5);
  CHECK_THAT(missing.what(), Contains("none.so"));
  fs::permissions(real, fs::perms::others_write, fs::perm_options::add);
  const BlobError open = error_of([&] { load(real); });
  CHECK(open.code() == 7);
  CHECK_THAT(open.what(), Contains("written by other users"));
  const fs::path fifo = place.folder / "fifo.so";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(error_of([&] { load_blob(fifo, kNoDigest, kBoth); }).code() == 7);  // and does not wait for a writer
}

TEST_CASE("a file of another user is refused") {
  BlobPlace place;
  const fs::path real = copied(place, "test_blob");
  if (geteuid() != 0) SKIP_CASE("not root: cannot give a file to another user");
  REQUIRE(chown(real.c_str(), 54321, 54321) == 0);
  const BlobError error = error_of([&] { load(real); });
  CHECK(error.code() == 7);
  CHECK_THAT(error.what(), Contains("belongs to user 54321") && Contains("CK_JIT_CACHE_DIR"));
}

TEST_CASE("the loader's own words are in the error") {
  BlobPlace place;
  const BlobError error = error_of([&] { load(copied(place, "test_blob_unresolved")); });
  CHECK(error.code() == 9);
  CHECK_THAT(error.what(), Contains("nowhere_defined"));
}

TEST_CASE("a truncated object is refused before the loader maps it") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob");
  const std::uintmax_t whole = fs::file_size(path);
  for (const std::uintmax_t size : {whole - 1, whole * 3 / 4, whole / 2, whole / 8, std::uintmax_t{65}}) {
    CAPTURE(whole, size);
    fs::resize_file(path, size);
    const BlobError error = error_of([&] { load(path); });
    CHECK(error.code() == 15);
    CHECK_THAT(error.what(), Contains("truncated"));
  }
}

TEST_CASE("after a refusal a better file at the same path is loaded") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob_hidden");
  CHECK(error_of([&] { load(path); }).code() == 15);
  fs::remove(path);
  fs::copy_file(module("test_blob"), path);
  CHECK(load(path).size() == 2);
}

TEST_CASE("a blob whose bytes are not those that were compiled is not loaded, and nothing of it runs") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob_constructor"), mark = place.folder / "constructed";
  BlobPlace::set("TEST_BLOB_CONSTRUCTED", mark);
  const std::string digest = sha256_of(path);
  std::ofstream(path, std::ios::app) << "x";  // which the dynamic loader does not mind
  const BlobError other = error_of([&] { load_blob(path, digest, kBoth); });
  CHECK(other.code() == 15);
  CHECK_THAT(other.what(), Contains("is not what was compiled") && Contains(digest) && Contains("Remove it"));
  CHECK_FALSE(fs::exists(mark));
  CHECK(load(path).size() == 2);
  CHECK(fs::exists(mark));
}

TEST_CASE("what is loaded stays what was checked when the file changes afterwards") {
  BlobPlace place;
  const fs::path path = copied(place, "test_blob");
  const std::vector<void*> functions = load(path);
  std::ofstream(path, std::ios::trunc) << "gone";  // of a mapped file this would be SIGBUS
  Args args{};
  args.values[39] = 7;
  CHECK(reinterpret_cast<Leaf>(functions[0])(6, args) == 42);
}

TEST_CASE("a blob's symbols are seen by nobody else, and each blob has its own") {
  BlobPlace place;
  const std::vector<void*> first = load(copied(place, "test_blob")), second = load(copied(place, "test_blob_throws"));
  CHECK(first[0] != second[0]);
  CHECK(first[1] != second[1]);
  Dl_info info{};
  REQUIRE(dladdr(first[0], &info) != 0);
  REQUIRE(info.dli_sname != nullptr);
  CHECK_THAT(info.dli_sname, Contains("leaf_"));
  CHECK(dlsym(RTLD_DEFAULT, info.dli_sname) == nullptr);
}

TEST_CASE("many blobs leave no descriptor open") {
  BlobPlace place;
  const auto open_descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const fs::path path = copied(place, "test_blob");
  const auto before = open_descriptors();
  std::vector<void*> functions;
  for (int i = 0; i < 20; ++i) functions.push_back(load(path)[0]);
  CHECK(open_descriptors() == before);
  // Loaded as often as asked for: an object that came by the same descriptor number is not taken for it.
  std::sort(functions.begin(), functions.end());
  CHECK(std::unique(functions.begin(), functions.end()) == functions.end());
}

TEST_CASE("SHA-256 of the loader is nettle's, at every length around its blocks") {
  std::string text;
  for (int length = 0; length < 300; ++length, text += static_cast<char>(length * 7 + 1)) {
    BlobSha256 at_once, in_parts;
    at_once.add(text);
    for (std::size_t i = 0; i < text.size(); i += 13) in_parts.add(std::string_view(text).substr(i, 13));
    const std::string wanted = hearth::to_hex(hearth::sha256(text));
    REQUIRE(at_once.hex() == wanted);
    REQUIRE(in_parts.hex() == wanted);
  }
  BlobSha256 abc;  // FIPS 180-4's own example
  abc.add("abc");
  CHECK(abc.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
