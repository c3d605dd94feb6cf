// BlobExports: which functions a blob's source defines for which type, read from its explicit specialisations.
//
//   template <> float fmha_fwd_<trait_0>(const ck_tile::stream_config& s, fmha_fwd_args a) { … }
// is leaf "fmha_fwd_", prefix "_Z9fmha_fwd_I", key "fmha_fwd_traits_<32,ck_tile::fp16_t,…>". Plain values. Errors:
// InvalidArgument naming file and line (what cannot be read), FailedPrecondition (two functions with one prefix, an
// alias without a single meaning, no specialisation at all).
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

struct BlobLeaf {
  std::string name;                     // with its namespaces: "fmha_fwd_"
  std::string prefix;                   // of its mangled name, up to and with the I that begins template arguments
  std::vector<std::string> arguments;   // canonical: the trait, then the arch where there is one
  std::string key;                      // the arguments with commas between
  std::string result;                   // as written: "float"
  std::vector<std::string> parameters;  // as written, without names: "const ck_tile::stream_config&"
  bool forwardable = true;              // a function with these parameters can be written here
};

struct BlobExports {
  std::string stem;
  std::vector<BlobLeaf> leaves;  // in the order of the source
};

absl::StatusOr<BlobExports> read_blob_exports(std::string_view stem, std::string_view source);

}  // namespace hearth::blobs
