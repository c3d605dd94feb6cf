// The dispatchers of one library in a post-build: rewritten, checked against what they were, compiled.
//
// Before anything is compiled, every site must have led to one blob. With config.verify the unmodified dispatchers are
// compiled too, without optimisation, and what they leave undefined compared with what was found, symbol by symbol;
// that is looked at as soon as it is there. Host code only, unless a dispatcher has kernels of its own. Blocking.
// Errors: those of rewrite_dispatcher, run_commands and verify_exports. Example:
//   auto dispatchers = rewrite_dispatchers(config, records, folder, &manifest);
//   absl::Status compiled = compile_dispatchers(config, manifest.library, folder, *dispatchers, &progress, &verified);
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "blobs/library/manifest.h"
#include "blobs/tools/build_progress.h"
#include "blobs/tools/dispatcher_rewriter.h"
#include "blobs/tools/intercept_config.h"
#include "blobs/tools/record.h"

namespace hearth::blobs {

struct Dispatcher {
  Record record;
  RewrittenDispatcher rewritten;
  std::string object;
};

// Writes the rewritten sources into `folder`, and the blobs' exports into the manifest.
absl::StatusOr<std::vector<Dispatcher>> rewrite_dispatchers(const InterceptConfig& config,
                                                            const std::vector<Record>& records,
                                                            const std::string& folder, Manifest* manifest);

// `verified_symbols` grows by what the check found; it stays when config.verify is off.
absl::Status compile_dispatchers(const InterceptConfig& config, const std::string& library, const std::string& folder,
                                 const std::vector<Dispatcher>& dispatchers, BuildProgress* progress,
                                 int* verified_symbols);

}  // namespace hearth::blobs
