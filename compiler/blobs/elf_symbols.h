// The undefined symbols of a relocatable object, read by its .symtab. Thread-safe. Errors: those of reading a file;
// DataLoss naming the file (elf_file.h).
//
//   absl::StatusOr<std::vector<std::string>> names = undefined_symbols("fmha_fwd_api.o");
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace hearth::blobs {

// Sorted, without repetition.
absl::StatusOr<std::vector<std::string>> undefined_symbols(const std::string& object);

}  // namespace hearth::blobs
