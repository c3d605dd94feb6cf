#include "tests/unit/blobs/sample_library.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "runtime/blob_library.h"

namespace hearth::test {

std::string fwd_stem(int hdim, const std::string& dtype, const std::string& padding, const std::string& rest,
                     const std::string& mode) {
  const std::string d = std::to_string(hdim);
  return "fmha_fwd_d" + d + "_" + dtype + "_" + mode + "_b128x64x32x" + d + "x32x" + d +
         "_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr_" + padding + "_" + rest;
}

std::string shipped_adapter() {
  const absl::StatusOr<std::string> text =
      runtime::read_file(std::string(std::getenv("HEARTH_SOURCE_DIR")) + "/blobs/tools/adapters/fmha_fwd_host.toml");
  INFO(text.status());
  REQUIRE(text.ok());
  return *text;
}

SampleLibrary::SampleLibrary(const std::vector<std::string>& stems, const std::string& toolchain) {
  std::string pattern = (std::filesystem::temp_directory_path() / "hearth-blobs-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
  blobs::Manifest manifest{.library = "libmha", .toolchain = toolchain, .blobs = {}};
  for (const std::string& stem : stems) {
    blobs::Blob& blob = manifest.blobs.emplace_back();
    blob.stem = stem;
    blob.family = "fmha_fwd";
    blob.source = "blob/" + stem + ".cpp";
    blob.flags = {"-O3", "-I{root}/include"};
    blob.exports = {"_Z9fmha_fwd_I"};
  }
  std::filesystem::create_directories(folder_ / "adapters");
  REQUIRE(runtime::write_file(folder_ / runtime::kBlobManifestFile, {blobs::manifest_json(manifest)}).ok());
  REQUIRE(runtime::write_file(adapter(), {shipped_adapter()}).ok());
}

SampleLibrary::~SampleLibrary() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::shared_ptr<const blobs::BlobLibrary> SampleLibrary::loaded() const {
  const absl::StatusOr<runtime::BlobLibraryFiles> files = runtime::read_blob_library(folder_);
  INFO(files.status());
  REQUIRE(files.ok());
  auto library = blobs::load_library(folder_, files->digest());
  INFO(library.status());
  REQUIRE(library.ok());
  return *library;
}

}  // namespace hearth::test
