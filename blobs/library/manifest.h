// Manifest: the list of blobs of one library, each with its source, flags and the symbols it exports.
//
// Two forms. While an intercepted build runs, every recorded compile is one line of an NDJSON file (Record), appended
// by many processes at once with one O_APPEND write each. After it, the manifest is one JSON file that is installed
// beside the sources (`ck_jit_manifest.json`), and a C++ array compiled into the library. Plain values; thread-safe.
// Errors: InvalidArgument naming file, line or field; FailedPrecondition for another version, naming both and the
// remedy (build the library again). Example:
//   absl::StatusOr<Manifest> manifest = read_manifest("install/ck_jit/ck_jit_manifest.json");
//   const Blob* blob = manifest->find("fmha_fwd_d128_fp16_batch_…_psddv");
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

inline constexpr int kManifestVersion = 1;

// Which kind of compiler blobs want; a toolchain (toolchain.h) is found for it on the node that compiles.
inline constexpr char kHipToolchain[] = "hip";
inline constexpr char kCxxToolchain[] = "c++";

// What stands for the folder that holds the sources, in flags: "-I{root}/include". Wherever the installation is moved
// to, {root} is the folder of the manifest (CK_JIT_ROOT).
inline constexpr std::string_view kRootMark = "{root}";

struct Blob {
  std::string stem;    // the source's basename without its extension; unique in a manifest
  std::string family;  // "fmha_fwd", "fmha_fwd_splitkv", "fmha_fwd_appendkv", "fmha_batch_prefill", "fmha_bwd"
  std::string source;  // relative to the root
  // The flags of its compile, in order, without compiler, source, -c, -o, -M…, --offload-arch= and
  // -fvisibility=hidden. Paths below the root begin with kRootMark.
  std::vector<std::string> flags;
  std::vector<std::string> archs;    // of --offload-arch=, e.g. "gfx942"; empty for host code
  std::vector<std::string> exports;  // prefixes of mangled names, e.g. "_Z9fmha_fwd_I"; exactly one symbol matches each
};

struct Manifest {
  std::string library;                    // "libmha_fwd"
  std::string toolchain = kHipToolchain;  // or kCxxToolchain
  std::vector<Blob> blobs;                // sorted by stem

  // Null when there is none of that stem. `stem` may also be a file name or path ("…/x.cpp", "…/x.so").
  const Blob* find(std::string_view stem) const;
};

// The stem that a basename, source path or `.so` path stands for.
std::string_view stem_of(std::string_view name);

absl::StatusOr<Manifest> parse_manifest(std::string_view json, std::string_view name_for_errors);
absl::StatusOr<Manifest> read_manifest(const std::string& path);
// Deterministic: equal manifests give equal bytes. Flags that blobs share are written once.
std::string manifest_json(const Manifest& manifest);

}  // namespace hearth::blobs
