// rewrite_dispatcher: makes a generated dispatcher (fmha_fwd_api.cpp, …) call its blobs lazily.
//
// Every place that names a blob's trait, through aliases, must lead to exactly one blob. The text that comes back is
// the dispatcher with (1) one hearth::blob::Site for each export of each blob that is used, found by the C++ type, so
// that a type without a blob does not compile, (2) its calls of blob functions made through the site, with the
// function's own type and no copy of an argument, (3) a definition of the leaf templates, for headers that call them.
// #line keeps places. It includes "hearth_blob.h" and refers to `hearth_blob_library`, whose blobs must be those given
// here, sorted by stem, with the exports given back. Pure; thread-safe. Errors: InvalidArgument (the text: place),
// FailedPrecondition (a site: file, line, alias, nearest candidates).
//   absl::StatusOr<RewrittenDispatcher> out = rewrite_dispatcher({path, source, {{stem, text}, …}});
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

namespace hearth::blobs {

struct BlobSource {
  std::string stem;
  std::string text;
};

struct RewriteInput {
  std::string path;               // of the dispatcher, for #line and messages
  std::string source;             // its text
  std::vector<BlobSource> blobs;  // every blob of the library, also of its other dispatchers; in any order
};

// One place of the dispatcher that leads to a blob.
struct RewriteSite {
  int line = 0;
  std::string alias;  // as the dispatcher writes it: "trait_"
  std::string stem;
  std::string leaf;  // what is called there: "fmha_fwd_", or the helper "fmha_bwd_"
};

struct RewrittenDispatcher {
  std::string source;
  std::vector<RewriteSite> sites;  // in the order of the source
  // stem → mangled prefixes, in the order of the blob's source: LibraryBlob::exports. For every blob given.
  std::map<std::string, std::vector<std::string>> exports;
};

absl::StatusOr<RewrittenDispatcher> rewrite_dispatcher(const RewriteInput& input);

}  // namespace hearth::blobs
