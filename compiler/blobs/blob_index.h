// BlobIndex: the blobs of a library by the C++ type they are for. Built once, then read-only and thread-safe.
// Errors: those of read_blob_exports; InvalidArgument for a stem given twice; find() says FailedPrecondition when no
// blob or more than one is for a type, with the nearest candidates.
//   absl::StatusOr<BlobIndex> index = BlobIndex::make(blobs);
//   absl::StatusOr<int> blob = index->find({"fmha_fwd_traits_<32,…>", "ck_tile::gfx942_t"});
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/blobs/blob_exports.h"
#include "compiler/blobs/dispatcher_rewriter.h"

namespace hearth::blobs {

class BlobIndex {
 public:
  static absl::StatusOr<BlobIndex> make(const std::vector<BlobSource>& blobs);

  const std::vector<BlobExports>& blobs() const { return blobs_; }  // sorted by stem
  // Whether a function of this unqualified name is exported by some blob.
  bool is_leaf(std::string_view name) const { return leaves_.contains(std::string(name)); }
  // Whether types of this template are what blobs are for.
  bool is_trait(std::string_view head) const { return heads_.contains(std::string(head)); }

  bool contains(const std::string& key) const { return by_key_.contains(key); }
  absl::StatusOr<int> find(const std::vector<std::string>& arguments) const;

 private:
  std::string nearest(const std::vector<std::string>& arguments) const;

  std::vector<BlobExports> blobs_;
  std::unordered_map<std::string, std::vector<int>> by_key_;
  std::unordered_set<std::string> leaves_, heads_;
};

std::string blob_key(const std::vector<std::string>& arguments);
// "fmha_fwd_traits_" of "fmha_fwd_traits_<32,…>"; empty when it is no template-id.
std::string_view template_name(std::string_view type);
// "fmha_fwd_" of "ck_tile::fmha_fwd_".
std::string_view unqualified(std::string_view name);

}  // namespace hearth::blobs
