// Which blobs of which manifest a command is about. A blob is named by its stem, its file name, a path to its source or
// to a cached .so, or in a list, one name a line ('#' begins a comment); all forms may be mixed, repetitions count
// once. Errors: INVALID_ARGUMENT naming the option and the remedy; those of read_manifest. Example:
//   absl::StatusOr<BlobSelection> selected = select_blobs(flags);
//   for (const blobs::Blob* blob : selected->blobs) use(blobs::blob_spec(selected->manifest, *blob, selected->root));
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "blobs/library/blob_spec.h"
#include "blobs/library/manifest.h"

namespace hearth::cli {

struct BlobNames {
  std::vector<std::string> names;
  std::string list_file;  // "-": standard input
  bool all = false;
  std::string manifest;  // else $CK_JIT_MANIFEST, ck_jit_manifest.json of the root
  std::string root;      // else $CK_JIT_ROOT, the manifest's folder
};

struct BlobSelection {
  blobs::Manifest manifest;
  std::string manifest_path;
  std::string root;                  // absolute
  std::vector<std::string> stems;    // known ones, in the order given; with `all`, every one
  std::vector<std::string> unknown;  // names as given
};

// Names and lines of the list, in order; nothing twice.
absl::StatusOr<std::vector<std::string>> given_names(const BlobNames& names);
// Whether a manifest was named, by option or environment.
bool names_manifest(const BlobNames& names);

// `all_unless_named`: without any name, every blob.
absl::StatusOr<BlobSelection> select_blobs(const BlobNames& names, bool all_unless_named);

}  // namespace hearth::cli
