// What a freshly linked blob offers: its dynamic symbols and the GPU code in it, read from the file's bytes.
//
// Pure functions; thread-safe. Errors: those of elf_file.h; DataLoss for an export that is missing or ambiguous, with
// the prefix and the candidates. Example:
//   absl::Status whole = check_blob_object(bytes, {"_Z9fmha_fwd_I"}, {"gfx942"});
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

struct ElfObject {
  std::vector<std::string> functions;     // defined GLOBAL FUNC names of .dynsym
  std::vector<std::string> hidden_hints;  // defined functions of .symtab: what an export was hidden as, for messages
  std::vector<std::string> gpu_targets;   // "hipv4-amdgcn-amd-amdhsa--gfx942", of .hip_fatbin
  bool has_fat_binary = false;
};

absl::StatusOr<ElfObject> read_elf_object(std::string_view bytes);

// A shared object of this machine's kind in which each prefix begins exactly one exported function's name, and which
// holds GPU code for each arch (none wanted: none looked for).
absl::Status check_blob_object(std::string_view bytes, const std::vector<std::string>& exports,
                               const std::vector<std::string>& archs);

}  // namespace hearth::blobs
