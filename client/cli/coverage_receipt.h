// CoverageReceipt: what `hearth prewarm --report` writes: for which models, targets, numbers of threads and lengths the
// cache holds compiled plans, and what failed; a rollout's gate reads `complete`. Thread-safe. Errors: those of
// write_file and of reading the model's file again.
//
//   CoverageReceipt receipt;
//   receipt.cover({.path = path, .target = target, …});
//   absl::Status written = receipt.write("receipt.json", num_models);
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hearth/prepare.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/pack.pb.h"

namespace hearth::cli {

struct CoveredPlan {
  std::string path;
  v1::Target target;
  std::vector<std::string> dims;    // as --dim was given
  std::vector<std::string> consts;  // NAME=VALUE
  std::string weights;              // f32, bf16, int8
  client::PrepareConfig config;
  client::PrepareStats stats;
};

class CoverageReceipt {
 public:
  CoverageReceipt();
  ~CoverageReceipt();
  void cover(const CoveredPlan& plan);
  void miss(const std::string& path, const absl::Status& why);
  // From which pack plans came, by their keys (packs.h).
  void came_from(const std::map<std::string, v1::ImportedPack>& packs);
  // "-" is standard output. `models`: how many were asked for.
  absl::Status write(const std::string& path, std::size_t models) const;

 private:
  mutable std::mutex mutex_;
  struct Rows;
  const std::unique_ptr<Rows> rows_;
};

}  // namespace hearth::cli
