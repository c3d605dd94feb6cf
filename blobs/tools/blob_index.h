// BlobIndex: the blobs of a library by function and the C++ type they are for. Functions that one blob defines together
// are a family; blobs of several families may be for the same type (fmha_fwd_<T> and fmha_batch_prefill_<T>). Built
// once, then read-only and thread-safe. Errors: those of read_blob_exports; InvalidArgument for a stem given twice;
// find() says FailedPrecondition when no blob or more than one is for a type, with the nearest candidates.
//   absl::StatusOr<BlobIndex> index = BlobIndex::make(blobs);
//   absl::StatusOr<int> blob = index->find("fmha_fwd_", {"fmha_fwd_traits_<32,…>", "ck_tile::gfx942_t"});
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "blobs/tools/blob_exports.h"
#include "blobs/tools/dispatcher_rewriter.h"

namespace hearth::blobs {

// "fmha_fwd_" of "ck_tile::fmha_fwd_".
std::string_view unqualified(std::string_view name);

class BlobIndex {
 public:
  static absl::StatusOr<BlobIndex> make(const std::vector<BlobSource>& blobs);

  const std::vector<BlobExports>& blobs() const { return blobs_; }  // sorted by stem
  // Stem -> mangled prefixes, in the order of the blob's source, for every blob.
  std::map<std::string, std::vector<std::string>> exports() const;
  // Whether a function of this unqualified name is exported by some blob.
  bool is_leaf(std::string_view name) const { return families_.contains(name); }
  // Whether types of this template are what blobs are for.
  bool is_trait(std::string_view head) const { return heads_.contains(std::string(head)); }

  // The family of the function of that unqualified name, which is_leaf().
  int family(std::string_view name) const { return families_.find(name)->second; }
  int family_of(int blob) const { return family(unqualified(blobs_[static_cast<std::size_t>(blob)].leaves[0].name)); }

  bool contains(const std::string& key) const { return by_key_.contains(key); }
  // The blob for these types that `function` means: one that exports it, or for a helper, which no blob exports, the
  // only one, or the only one whose functions' names begin with the helper's.
  absl::StatusOr<int> find(std::string_view function, const std::vector<std::string>& arguments) const;

 private:
  void join_families(const BlobExports& blob);
  std::string nearest(const std::vector<std::string>& arguments) const;

  std::vector<BlobExports> blobs_;
  std::unordered_map<std::string, std::vector<int>> by_key_;
  std::map<std::string, int, std::less<>> families_;  // unqualified name of a function -> number of its family
  std::unordered_set<std::string> heads_;
};

std::string blob_key(const std::vector<std::string>& arguments);
// "fmha_fwd_traits_" of "fmha_fwd_traits_<32,…>"; empty when it is no template-id.
std::string_view template_name(std::string_view type);

}  // namespace hearth::blobs
