// Where compilers are looked for: environment variables, ROCm's home, Debian's packages. Only stat calls; nothing runs.
//
// Pure but for the environment and the file system; thread-safe. Errors: NotFound naming everything that was looked
// for, and the package; InvalidArgument for a kind that there is none of. Example:
//   absl::StatusOr<std::vector<CompilerPlace>> places = compiler_places("hip");  // the best first
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace hearth::blobs {

struct CompilerPlace {
  enum class Flavour { kHost, kRocm, kDebianClang };
  Flavour flavour;
  std::string compiler;  // absolute; links are not followed, compilers look at the name they are called by
  bool asked_for;        // named by an environment variable: no other is taken in its stead
};

absl::StatusOr<std::vector<CompilerPlace>> compiler_places(const std::string& kind);

// Where Debian's packages put what HIP needs, with the package that has it.
struct DebianHip {
  std::string device_libraries;  // folder of ocml.bc
  std::string library_folder;    // of libamdhip64.so
};
absl::StatusOr<DebianHip> debian_hip();

}  // namespace hearth::blobs
