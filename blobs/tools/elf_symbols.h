// What a relocatable object defines and leaves to others, read by its symbols and relocations. Thread-safe. Errors:
// those of reading a file; DataLoss naming the file (elf_file.h).
//
//   absl::StatusOr<std::vector<std::string>> names = undefined_symbols("fmha_fwd_api.o");
//   absl::StatusOr<ObjectReferences> all = references("fmha_fwd_api_names.o", "hearth_names");
#pragma once
#include <absl/status/statusor.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

// Sorted, without repetition.
absl::StatusOr<std::vector<std::string>> undefined_symbols(const std::string& object);
absl::StatusOr<std::vector<std::string>> defined_symbols(const std::string& object);

struct ObjectReferences {
  std::vector<std::string> listed;  // symbols that a table of addresses names, in its order
  std::set<std::string> undefined;  // symbols that the rest of the object needs and does not define
};

// `section`: of the table.
absl::StatusOr<ObjectReferences> references(const std::string& object, std::string_view section);

// Whether the object registers GPU kernels with the HIP runtime: then it needs its device code.
absl::StatusOr<bool> has_kernels(const std::string& object);

}  // namespace hearth::blobs
