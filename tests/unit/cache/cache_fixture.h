// Helpers of the cache tests: a cache in a fresh directory, materials and artifacts made from a number.
#pragma once
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "kernels_cache/kernels_cache.h"
#include "tests/unit/cache/temp_dir.h"

namespace hearth::cache::testing {

inline KeyMaterial material_of(int number, const std::string& domain = "hearth.kernel.test") {
  KeyMaterial material(domain);
  material.add("number", std::to_string(number));
  material.add("build_id", "test");
  return material;
}

inline KeyMaterial plan_material_of(int number) { return material_of(number, "hearth.plan.test"); }

// Different for each number; `size` bytes.
inline std::string artifact_of(int number, std::size_t size = 3000) {
  std::string bytes(size, '\0');
  std::uint64_t state = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15u + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

inline std::vector<std::string> files_under(const std::string& dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (!entry.is_directory()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // CAS files are read-only
  std::ofstream(path, std::ios::binary) << bytes;
}

inline absl::StatusOr<std::string> read_artifact(KernelsCache& cache, const Digest& digest) {
  absl::StatusOr<ArtifactReader> file = cache.open_artifact(digest);
  if (!file.ok()) return file.status();
  return file->read(0, file->size_bytes());
}

struct CacheFixture {
  TempDir dir;
  Options options;
  std::vector<std::string> warnings;
  std::unique_ptr<KernelsCache> cache;

  CacheFixture() {
    options.dir = dir / "cache";
    options.on_warning = [this](const std::string& text) { warnings.push_back(text); };
  }

  absl::Status try_open() {
    cache.reset();
    absl::StatusOr<std::unique_ptr<KernelsCache>> opened = KernelsCache::open(options);
    if (opened.ok()) cache = *std::move(opened);
    return opened.status();
  }

  KernelsCache& open() {
    absl::Status opened = try_open();
    INFO(opened);
    REQUIRE(opened.ok());
    return *cache;
  }

  Digest put_kernel(int number, std::size_t size = 3000) {
    absl::StatusOr<ArtifactEntry> entry = cache->put_kernel(material_of(number), artifact_of(number, size));
    INFO(entry.status());
    REQUIRE(entry.ok());
    return entry->digest;
  }
};

}  // namespace hearth::cache::testing
