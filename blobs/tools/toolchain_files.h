// The files that decide what a compiler makes: the program, the compilers and linkers it starts, the libraries these
// load. Found by asking the compiler (-print-prog-name) and the dynamic loader, in child processes.
//
// Covered: the driver, cc1plus, as, ld, collect2, lld, clang-offload-bundler, and every shared object they load. Not
// covered: start files and libraries that a blob is linked to (crt*.o, libstdc++.so); headers are a blob's
// dependencies. Blocking; thread-safe. Errors: those of reading and of run_child. Example:
//   absl::StatusOr<std::vector<StampedFile>> files = stamped(compiler_files("/usr/bin/c++"));
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "blobs/tools/toolchain_record.h"

namespace hearth::blobs {

// Sorted, without duplicates, links followed.
std::vector<std::string> compiler_files(const std::string& compiler);

// Stamps and digests of files. The digest of a file that another toolchain of this process has too is taken from there.
absl::StatusOr<std::vector<StampedFile>> stamped(const std::vector<std::string>& paths);

}  // namespace hearth::blobs
