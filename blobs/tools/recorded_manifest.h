// From the recorded compiles of one library to its manifest: flags sorted out, paths made relative to the root.
//
// A blob's family is the longest name of a dispatcher ("fmha_fwd_splitkv" of fmha_fwd_splitkv_api.cpp) that its stem
// begins with. Exports are left empty; they come from the rewriter. Pure functions; thread-safe. Errors:
// InvalidArgument naming the source: outside every mapped folder, without a dispatcher, twice, or compiled for other
// archs than its neighbours. Example:
//   absl::StatusOr<Manifest> manifest = recorded_manifest("libmha_fwd", records, config);
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "blobs/library/manifest.h"
#include "blobs/tools/intercept_config.h"
#include "blobs/tools/record.h"

namespace hearth::blobs {

// `records`: blobs and dispatchers of this library.
absl::StatusOr<Manifest> recorded_manifest(const std::string& library, const std::vector<Record>& records,
                                           const InterceptConfig& config);

// The args of a recorded compile with other files: -M… and what wrote depfiles is dropped.
std::vector<std::string> recompile_args(const Record& record, const std::string& source, const std::string& object);

// `path` below the root ("3rdparty/x"), or empty when no mapped folder holds it. Links are followed if need be.
std::string path_below_root(const std::string& path, const InterceptConfig& config);

// "fmha_fwd" of fmha_fwd_api.cpp.
std::string dispatcher_family(const std::string& source);

}  // namespace hearth::blobs
