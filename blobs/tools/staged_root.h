// The staged root: a folder that looks like an installation's ck_jit/ but links to where the sources are, so that a
// library can be used before it is installed, and that an installation is copied from.
//
// Folders of the mapping that lie within another's place are merged: {A, ""} and {T/jit, "aiter/jit"} give
// root/aiter/jit → T/jit beside A's other entries. hearth-blobc and the client library are linked from `bin` and
// `bin`/../lib. Made anew each time. Errors: PermissionDenied naming the folder.
//   absl::Status made = stage_root({{"/src/aiter", ""}, {"/tmp/b/jit", "aiter/jit"}}, "/tmp/b/ck_jit", "/usr/bin");
#pragma once
#include <absl/status/status.h>

#include <string>
#include <utility>
#include <vector>

namespace hearth::blobs {

absl::Status stage_root(const std::vector<std::pair<std::string, std::string>>& mapping, const std::string& root,
                        const std::string& bin);

}  // namespace hearth::blobs
