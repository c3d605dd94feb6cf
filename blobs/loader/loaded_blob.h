// load_blob: a compiled blob's shared object, checked, loaded for good, and the addresses of its exports.
//
// The file must be a regular one (no link), owned by this user or root, and not writable by others. What is loaded is a
// sealed copy in memory (sealed_file.h) whose SHA-256 is the one that was compiled: nothing of a file with other bytes
// runs, not even its constructors. Its exports are read before the loader sees it. Loaded with RTLD_LOCAL; never
// unloaded. Thread-safe. Errors: those of SealedFile; BlobError DATA_LOSS (elf_exports.h), FAILED_PRECONDITION (the
// loader says no, in its words).
//   std::vector<void*> functions = load_blob("/home/me/.cache/ck_jit/fmha_fwd_….so", sha256_hex, {"_Z9fmha_fwd_I"});
#pragma once
#include <string>
#include <vector>

namespace hearth::blob {

std::vector<void*> load_blob(const std::string& path, const std::string& sha256_hex,
                             const std::vector<std::string>& prefixes);

}  // namespace hearth::blob
