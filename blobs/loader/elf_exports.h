// The functions that a shared object exports, read from its .dynsym without loading it.
//
// ELF64 of this machine's byte order and processor. Every read is checked against the size of the file. GLOBAL
// functions of default visibility that are defined there count; WEAK ones (templates that every blob has) do not.
// Thread-safe. Errors: BlobError DATA_LOSS naming the file: not ELF, another machine's, truncated, damaged; or a prefix
// with no symbol or with two.
//   std::vector<std::string> names = find_exports(bytes, path, {"_Z9fmha_fwd_I"});
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blob {

// For each prefix the name of the one symbol that begins with it.
std::vector<std::string> find_exports(std::string_view elf, const std::string& name_for_errors,
                                      const std::vector<std::string>& prefixes);

}  // namespace hearth::blob
