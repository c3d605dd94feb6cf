#include "blob_place.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <sstream>

#include "blobs/loader/blob_sha256.h"

namespace hearth::blob::test {
namespace {

constexpr const char* kVariables[] = {
    "CK_JIT_ROOT",       "CK_JIT_NAME",        "CK_JIT_CACHE_DIR", "CK_JIT_MANIFEST",     "CK_JIT_VERBOSE",
    "HEARTH_BLOB_MODE",  "HEARTH_BLOB_CLIENT", "HEARTH_BLOBC",     "HEARTH_BLOB_RETRY_S", "HEARTH_BLOB_TIMEOUT_S",
    "TEST_CLIENT_REPLY", "TEST_CLIENT_LOG",    "XDG_CACHE_HOME"};

const char* const kExports[] = {"_Z5leaf_I", "_Z14leaf_get_name_I", nullptr};
const char* const kArchs[] = {"gfx942", "gfx90a", nullptr};
const char* const kFlags[] = {"-O3", "-I{root}/include", "-DTEXT=\"a b\"", nullptr};
const char* const* const kFlagSets[] = {kFlags};
const LibraryBlob kBlobs[] = {{"leaf_one", "blob/leaf_one.cpp", 0, kExports},
                              {"leaf_two", "blob/leaf_two.cpp", 0, kExports}};

// As a library's own, sites and lists are there until the process ends; leak checkers find them here.
std::mutex kept_mutex;
std::deque<Library>& kept_libraries() {
  static auto& kept = *new std::deque<Library>;
  return kept;
}
std::deque<Dispatcher>& kept_dispatchers() {
  static auto& kept = *new std::deque<Dispatcher>;
  return kept;
}
std::deque<Site>& kept_sites() {
  static auto& kept = *new std::deque<Site>;
  return kept;
}

}  // namespace

std::string module(const std::string& name) { return std::filesystem::path(HEARTH_TEST_MODULES) / (name + ".so"); }

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string sha256_of(const std::filesystem::path& path) {
  BlobSha256 sha;
  sha.add(read_file(path));
  return sha.hex();
}

std::string reply_of(const std::filesystem::path& path) {
  return "{\"path\": \"" + path.string() + "\", \"sha256\": \"" + sha256_of(path) + "\"}";
}

BlobPlace::BlobPlace() {
  static std::atomic<int> number{0};
  for (const char* name : kVariables) unsetenv(name);
  folder = std::filesystem::temp_directory_path() /
           ("hearth_blob_test_" + std::to_string(getpid()) + "_" + std::to_string(number++));
  root = folder / "root";
  cache = folder / "cache";
  std::filesystem::create_directories(root);
  const std::lock_guard lock(kept_mutex);
  library_ = &kept_libraries().emplace_back(
      Library{kLibraryVersion, 7, "libtest", "c++", "", "test_blobs", kArchs, kFlagSets, kBlobs, 2});
  dispatcher_ = &kept_dispatchers().emplace_back(Dispatcher{library_, 7});
  set("CK_JIT_ROOT", root);
  set("CK_JIT_CACHE_DIR", cache);
}

BlobPlace::~BlobPlace() {
  for (const char* name : kVariables) unsetenv(name);
  std::error_code ignored;
  std::filesystem::permissions(cache, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(folder, ignored);
}

void BlobPlace::set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void BlobPlace::compiler_does(const std::string& body) {
  std::ostringstream script;
  const std::string log = (folder / "calls").string();
  script << "#!/bin/sh\nprintf '%s|' \"$@\" >> '" << log << "'; echo >> '" << log << "'\n"
         << "while [ $# -gt 0 ]; do case \"$1\" in --stem) stem=$2;; --cache-dir) cache=$2;; --) break;; esac; shift; "
         << "done\n"
         << body << "\n";
  // Written aside and renamed: a script that is being written cannot be run.
  write_file(root / "hearth-blobc.new", script.str());
  std::filesystem::permissions(root / "hearth-blobc.new", std::filesystem::perms::owner_all);
  std::filesystem::rename(root / "hearth-blobc.new", root / "hearth-blobc");
}

void BlobPlace::compiler_copies(const std::string& module_name) {
  std::ostringstream body;
  body << "cp '" << module(module_name) << "' \"$cache/$stem.so\" && chmod 755 \"$cache/$stem.so\" && "
       << R"(printf '{"path": "%s", "sha256": "%s"}\n' "$cache/$stem.so" )" << sha256_of(module(module_name));
  compiler_does(body.str());
}

std::size_t BlobPlace::calls() const {
  const std::string text = arguments();
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string BlobPlace::arguments() const { return read_file(folder / "calls"); }

Site& BlobPlace::site(std::uint32_t blob, std::uint32_t which) const {
  const std::lock_guard lock(kept_mutex);
  return kept_sites().emplace_back(dispatcher_, blob, which);
}

int BlobPlace::call(Site& site) {
  Args args{};
  args.values[39] = 7;
  return reinterpret_cast<Leaf>(site.get())(6, args);
}

}  // namespace hearth::blob::test
