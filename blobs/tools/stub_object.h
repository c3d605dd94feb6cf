// What the interceptor writes in place of a blob's object: a valid, empty relocatable ELF file of this machine that
// says which source it stands for, in a section that linkers drop. Thread-safe. Errors: those of reading a file.
//
//   std::string bytes = stub_object("/aiter/blob/fmha_fwd_d128.cpp");
//   absl::StatusOr<std::string> source = stub_source("fmha_fwd_d128.cuda.o");  // empty: a real object
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace hearth::blobs {

std::string stub_object(std::string_view source);

// The source that the object at `path` stands for; empty when it is anything else.
absl::StatusOr<std::string> stub_source(const std::string& path);

}  // namespace hearth::blobs
