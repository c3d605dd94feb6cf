// DispatcherSites: the places of a dispatcher that lead to blobs, and the calls of blob functions in it.
//
// A site is a template-id whose arguments are, through aliases, types that blobs are for: fmha_fwd_<trait_>(s, a), or a
// helper fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, std::conditional_t<true, convert_dq_trait_, void>, Arch>(s, a),
// wherever the helper is defined. Branches of `if constexpr` known not to be taken are left alone. Plain values.
// Errors: FailedPrecondition naming file, line, alias and candidates when a type does not lead to exactly one blob.
//   absl::StatusOr<DispatcherSites> found = find_sites(path, tokens, index);
#pragma once
#include <absl/status/statusor.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blobs/tools/blob_index.h"
#include "blobs/tools/cpp_tokens.h"

namespace hearth::blobs {

// A call of a blob's function, of which everything before the parenthesis is replaced: name<arguments>.
struct LeafCall {
  int begin, end;         // tokens, from the first qualifier to the closing angle
  std::string name;       // as written, with qualifiers
  std::string arguments;  // as written
};

// A call of a helper: a function template, of the dispatcher or of a header, whose arguments lead to blobs.
struct HelperCall {
  struct Argument {
    std::string written;  // "trait_"
    std::string type;     // canonical
    int blob = -1;        // number in the index; -1: no trait
    int family = -1;      // of the blob's functions
    std::string key;      // what finds that blob by its type, as written: "trait_, ck_tile::gfx942_t"
  };
  int begin, close;  // tokens, from the first qualifier to the closing angle; behind it is the (
  int name;          // its unqualified name
  std::vector<Argument> arguments;
};

struct DispatcherSites {
  std::vector<RewriteSite> sites;
  std::vector<int> site_tokens;  // where each of the sites is
  std::vector<LeafCall> calls;
  std::vector<HelperCall> helper_calls;
  std::set<int> blobs;  // that are used, as numbers in the index
};

absl::StatusOr<DispatcherSites> find_sites(std::string_view path, const CppTokens& tokens, const BlobIndex& index);

}  // namespace hearth::blobs
