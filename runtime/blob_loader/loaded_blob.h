// load_blob: a compiled blob's shared object, checked, loaded for good, and the addresses of its exports.
//
// The file must be a regular one (no link), owned by this user or root, and not writable by others; its symbols are
// read and its size is checked before the loader sees it. Loaded with RTLD_LOCAL; never unloaded. Thread-safe. Errors:
// BlobError PERMISSION_DENIED (owner, mode), NOT_FOUND, DATA_LOSS (elf_exports.h), FAILED_PRECONDITION (the loader says
// no, in its words).
//   std::vector<void*> functions = load_blob("/home/me/.cache/ck_jit/fmha_fwd_….so", {"_Z9fmha_fwd_I"});
#pragma once
#include <string>
#include <vector>

namespace hearth::blob {

std::vector<void*> load_blob(const std::string& path, const std::vector<std::string>& prefixes);

}  // namespace hearth::blob
