// The part of a library that is not the build's own: its embedded manifest and the blob loader; and the link.
//
// The loader is libhearth_blob.a beside the hearth that runs (../lib), or what $CK_JIT_RUNTIME_SRC names: an archive,
// an object, or a source, which is compiled with CK_JIT_{CK,AITER,ROCM}_INCLUDE. Blocking. Errors: NotFound naming a
// missing object or archive; FailedPrecondition with the compiler's last lines. Example:
//   absl::Status linked = link_library(config, state, manifest, {.root = "", .name = "ck_jit"});
#pragma once
#include <absl/status/status.h>

#include <string>

#include "blobs/library/manifest.h"
#include "blobs/tools/embedded_manifest.h"
#include "blobs/tools/intercept_config.h"
#include "blobs/tools/quick_state.h"

namespace hearth::blobs {

// Writes and compiles the embedded manifest, then links state.out_so anew. config.folder holds everything.
absl::Status link_library(const InterceptConfig& config, const QuickState& state, const Manifest& manifest,
                          const EmbeddedDefaults& defaults);

// Where the embedded manifest's object goes: the last of QuickState::all_objs.
std::string manifest_object(const InterceptConfig& config, const std::string& library);

// The folder that holds blobs/loader/hearth_blob.h; made by write_loader_header.
std::string loader_include(const InterceptConfig& config, const std::string& library);
absl::Status write_loader_header(const InterceptConfig& config, const std::string& library);

}  // namespace hearth::blobs
