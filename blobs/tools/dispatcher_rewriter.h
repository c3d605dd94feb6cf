// rewrite_dispatcher: makes a generated dispatcher (fmha_fwd_api.cpp, …) call its blobs lazily.
//
// Every place that names a blob's trait, through aliases, must lead to exactly one blob. The text that comes back is
// the dispatcher with (1) a table of hearth::blob::Site, a row found by the C++ type a blob is for, so that a type
// without a blob does not compile, (2) its calls of blob functions made through the table, with the function's own
// type, (3) helper templates instantiated once where that is the same (helper_templates.h), and their blobs asked for
// at once, (4) a definition of the leaf templates, for headers that call them. #line keeps places. It includes
// "hearth_blob.h" and refers to `hearth_blob_library`, whose blobs must be those given here, sorted by stem, with the
// exports given back. Pure; thread-safe. Errors: InvalidArgument (the text: place), FailedPrecondition (a site: file,
// line, alias, nearest candidates).
//   absl::StatusOr<RewrittenDispatcher> out = rewrite_dispatcher({path, source, {{stem, text}, …}});
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <set>
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

// A function of a blob, in the order of RewrittenDispatcher::names_source.
struct NamedExport {
  std::string stem;
  std::string name;  // "fmha_bwd_dq_dk_dv_oneshot_"
};

struct RewrittenDispatcher {
  std::string source;
  std::vector<RewriteSite> sites;  // in the order of the source
  // stem → mangled prefixes, in the order of the blob's source: LibraryBlob::exports. For every blob given.
  std::map<std::string, std::vector<std::string>> exports;
  std::set<std::string> stems;  // of the blobs that the sites lead to
  // The dispatcher as it was, with a table of the addresses of what its blobs, and others alike, export: kNamesSection
  // of dispatcher_text.h.
  std::string names_source;
  std::vector<NamedExport> names;
};

absl::StatusOr<RewrittenDispatcher> rewrite_dispatcher(const RewriteInput& input);

}  // namespace hearth::blobs
