#include "tests/unit/blob_compiler/place.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hearth::blobs::testing {

namespace fs = std::filesystem;

Place::Place() : folder_((fs::temp_directory_path() / "hearth-blobs.XXXXXX").string()) {
  REQUIRE(::mkdtemp(folder_.data()) != nullptr);
  write("root/x.cpp", kSource);
  write("root/include/k.h", "#define K 1\n");
  set("XDG_CACHE_HOME", folder("xdg"));
  for (const char* name : {"HEARTH_HIPCC", "HEARTH_BLOB_CLANG", "HEARTH_BLOB_CXX", "ROCM_PATH"}) set(name, {});
}

Place::~Place() {
  for (const auto& [name, value] : before_)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Place::write(const std::string& name, const std::string& text) const {
  const fs::path file = fs::path(folder_) / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::string Place::folder(const std::string& name) const {
  fs::create_directories(path(name));
  fs::permissions(path(name), fs::perms::owner_all);
  return path(name);
}

std::string Place::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path(name), std::ios::binary).rdbuf();
  return text.str();
}

std::string Place::stub(const std::string& name, const std::string& body) const {
  const std::string file = write(name,
                                 "#!/bin/sh\n"
                                 "case \"$1\" in --version) echo stub 1; exit 0;; -print-*) echo none; exit 0;; esac\n"
                                 "for word in \"$@\"; do [ \"$last\" = -o ] && OUT=$word; last=$word; done\n" +
                                     body + "\n");
  ::chmod(file.c_str(), 0755);
  return file;
}

std::string Place::counting_compiler() const {
  return stub("counting-c++", "echo compiled >> " + path("compiles") + "\nexec c++ \"$@\"");
}

int Place::compiles() const {
  const std::string lines = read("compiles");
  return static_cast<int>(std::count(lines.begin(), lines.end(), '\n'));
}

void Place::set(const std::string& variable, const std::optional<std::string>& value) {
  const char* now = std::getenv(variable.c_str());
  before_.emplace(variable, now == nullptr ? std::nullopt : std::optional<std::string>(now));
  value ? ::setenv(variable.c_str(), value->c_str(), 1) : ::unsetenv(variable.c_str());
}

BlobSpec Place::spec() const {
  return {.stem = "x",
          .toolchain = kCxxToolchain,
          .root = root(),
          .source = "x.cpp",
          .flags = {"-O1", "-I{root}/include"},
          .archs = {},
          .exports = {kExport},
          .glue = {}};
}

DirectOptions Place::direct() const { return {.cache_dir = path("cache")}; }

absl::StatusOr<CompiledBlob> Place::compile(const BlobSpec& spec, BlobCompileOptions options) const {
  const auto toolchain = find_toolchain(spec.toolchain);
  if (!toolchain.ok()) return toolchain.status();
  options.folder = folder("work");
  return compile_blob(spec, *toolchain, options);
}

bool says(const absl::Status& status, const std::string& text) {
  INFO(std::string(status.message()));
  CHECK(std::string(status.message()).find(text) != std::string::npos);
  return std::string(status.message()).find(text) != std::string::npos;
}

float call(const std::string& object, float x) {
  void* library = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto function = reinterpret_cast<float (*)(float)>(::dlsym(library, "_Z9hearth_f_IfET_S0_"));
  REQUIRE(function != nullptr);
  const float result = function(x);
  ::dlclose(library);
  return result;
}

}  // namespace hearth::blobs::testing
