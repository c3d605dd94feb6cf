// The installation: libmha_*.so and ck_jit/ with everything that compiles their blobs, wherever it is moved to.
//
// ck_jit/ holds hearth-blobc, the client library when there is one, ck_jit_manifest.json (all blobs of all libraries),
// the shipped adapters of their toolchain, the blobs' sources and the folders their -I flags name, in the layout of the
// sources. It is made beside and renamed; a folder of that name that is no installation is refused. Errors: NotFound
// naming what is missing and the remedy, PermissionDenied, FailedPrecondition. Example:
//   absl::StatusOr<InstallReport> done = install_tree({.folder = "/tmp/b", .install_dir = "/opt/mha", …});
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "blobs/library/manifest.h"
#include "blobs/tools/quick_state.h"

namespace hearth::blobs {

struct InstallInput {
  std::string root;         // the staged root
  std::string install_dir;  // made when missing
  std::string hearth;       // the program that runs; hearth-blobc lies beside it
  std::vector<QuickState> libraries;
  std::vector<Manifest> manifests;
};

struct InstallReport {
  int libraries = 0, sources = 0, files = 0;
};

absl::StatusOr<InstallReport> install_tree(const InstallInput& input);

// One manifest of several libraries' blobs. InvalidArgument when they are of different toolchains or share a stem.
absl::StatusOr<Manifest> merge_manifests(const std::vector<Manifest>& manifests);

// Folders below {root} that the manifest's flags name for includes, without those inside others; relative, sorted.
std::vector<std::string> include_folders(const Manifest& manifest);

}  // namespace hearth::blobs
