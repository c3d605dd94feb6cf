// Toolchain: a compiler on this machine that can make blobs of one kind, and what it takes to run it.
//
// Kinds: "hip" is ROCm's hipcc, 6 or newer (HEARTH_HIPCC, $ROCM_PATH/bin/hipcc, /opt/rocm/bin/hipcc) or, without ROCm,
// clang++-19 (HEARTH_BLOB_CLANG) -x hip with Debian's packages, for which ISA bitcode of newer archs is made; "c++" is
// the host compiler (HEARTH_BLOB_CXX, else c++). A variable that names no program is an error, not another compiler.
// Nothing is run in this process: an unknown arch aborts LLVM. Thread-safe.
// Errors: NotFound naming what was looked for, where, and the package that has it; Unimplemented for an arch this
// compiler does not know, with the archs it does. Example:
//   absl::StatusOr<Toolchain> toolchain = find_toolchain(kHipToolchain);
//   absl::Status can = toolchain->supports("gfx942");
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace hearth::blobs {

struct Toolchain {
  std::string kind;
  std::string compiler;                   // absolute path of the program
  std::vector<std::string> prefix_flags;  // before a blob's own, e.g. -x hip --rocm-path=/usr
  std::vector<std::string> link_flags;    // e.g. -lamdhip64
  std::string version;                    // first line of --version
  // SHA-256 (hex) of the compiler's programs, what they load, their version and device bitcode: part of every key.
  // toolchain_files.h says which files; the same on machines that have the same ones, wherever they are.
  std::string digest;

  // OK when a blob for `arch` can be compiled here. Empty arch: host code.
  absl::Status supports(const std::string& arch) const;
};

// `bitcode_folder`: where made ISA bitcode, and what was found, may be kept; private, made when missing. Empty: one in
// the user's cache or, where that cannot be written, among temporary files. What was found is remembered for the life
// of the process and looked at again when one of its files changes.
absl::StatusOr<Toolchain> find_toolchain(const std::string& kind, const std::string& bitcode_folder = {});

// One line of `hearth blobs doctor`.
struct ArchReport {
  std::string arch;
  bool works = false;
  std::string detail;  // why not, and the remedy; or what compiles it and how long a trivial kernel took
};
struct ToolchainReport {
  std::string kind;
  bool found = false;
  std::string detail;  // the compiler and its version, or what is missing
  std::vector<ArchReport> archs;
  ArchReport host_sources;  // aiter's own sources, which hearth does not replace; hip only
};
// Compiles a trivial kernel for each arch in a child process. Empty `archs`: those that are commonly used.
std::vector<ToolchainReport> examine_toolchains(const std::vector<std::string>& archs);

}  // namespace hearth::blobs
