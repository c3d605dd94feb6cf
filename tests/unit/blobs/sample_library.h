// A blob library on disk for tests of what is chosen: stems, but no sources behind them.
//
//   SampleLibrary library({"fmha_fwd_d64_fp16_batch_…"});
//   compiler::lower(graph, target, options, {}, {library.loaded()});
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "blobs/library/library.h"

namespace hearth::test {

// A stem of the 2024 generator; `rest` follows the padding.
std::string fwd_stem(int hdim, const std::string& dtype, const std::string& padding,
                     const std::string& rest = "nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant",
                     const std::string& mode = "batch");

class SampleLibrary {
 public:
  explicit SampleLibrary(const std::vector<std::string>& stems, const std::string& toolchain = "c++");
  ~SampleLibrary();
  SampleLibrary(const SampleLibrary&) = delete;
  SampleLibrary& operator=(const SampleLibrary&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path adapter() const { return folder_ / "adapters" / "fmha_fwd_host.toml"; }
  std::shared_ptr<const blobs::BlobLibrary> loaded() const;

 private:
  std::filesystem::path folder_;
};

// The adapter that is shipped.
std::string shipped_adapter();

}  // namespace hearth::test
