// Compiles one blob to a shared object in a child process, and finds out what it was made of.
//
// The compile runs in a process group of its own with wall, memory and output limits; nothing of it outlives the call.
// Flags are checked first: those that name programs, plug-ins or outputs (-fplugin=, -B, -o, @file, -Xclang -load …)
// are refused. Blocking; thread-safe. Errors: InvalidArgument (a flag, a missing source, by name), NotFound (no
// compiler), Unimplemented (arch), FailedPrecondition with the compiler's last lines when it says no, DeadlineExceeded,
// ResourceExhausted (killed for memory), Internal with the signal when the compiler crashed, DataLoss when the object
// lacks an export or has two. Example:
//   absl::StatusOr<CompiledBlob> blob = compile_blob(spec, toolchain, {.folder = temp});
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "blobs/library/blob_spec.h"
#include "blobs/tools/toolchain.h"

namespace hearth::blobs {

struct BlobCompileOptions {
  std::string folder;  // private, writable; everything is written below it
  std::chrono::milliseconds wall_limit{900'000};
  std::uint64_t memory_bytes = 8ull << 30;  // address space of each compiler process
  std::uint64_t output_bytes = 1ull << 30;  // the largest file it may write
};

// A file that a blob was made of, as it was then. With an empty digest it is the opposite: one of a header's name that
// lay where includes look and was not used, so that its being there is no news later.
struct Dependency {
  std::string path;  // absolute, or beginning with kRootMark when below the root
  std::string sha256_hex;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
};

struct CompiledBlob {
  std::string path;                      // the shared object, in options.folder; the caller's
  std::vector<Dependency> dependencies;  // the source and its transitive headers, sorted by path
  // True when a dependency changed while the compiler ran: the result may be used but not kept.
  bool changed_meanwhile = false;
  std::string log;  // what the compiler said (warnings), its last 16 KiB
  double seconds = 0;
};

absl::StatusOr<CompiledBlob> compile_blob(const BlobSpec& spec, const Toolchain& toolchain,
                                          const BlobCompileOptions& options);

// The command line of the compile, for people, dry runs and keys; `output` and `depfile` as given.
absl::StatusOr<std::vector<std::string>> compile_command(const BlobSpec& spec, const Toolchain& toolchain,
                                                         const std::string& output, const std::string& depfile);

// Whether every dependency is as it was (size and time, else digest), and no file that does not belong to them has
// appeared where an include looks for one of them: then a result made of them is still right.
bool dependencies_unchanged(const BlobSpec& spec, const std::vector<Dependency>& dependencies);

}  // namespace hearth::blobs
