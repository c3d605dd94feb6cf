// The independent check of a rewrite: an unmodified dispatcher's object leaves the blobs' exports undefined and
// nothing else of theirs; verify_exports says which may stay uncalled.
// Thread-safe. Errors: those of elf_symbols.h; FailedPrecondition naming dispatcher, prefix and both numbers.
//
//   absl::StatusOr<int> symbols = verify_exports("fmha_fwd_api_original.o", source, manifest, "fmha_fwd");
#pragma once
#include <absl/status/statusor.h>

#include <string>

#include "compiler/blobs/manifest.h"

namespace hearth::blobs {

// How many undefined symbols of `object` are, or are named as, exports of the family's blobs.
absl::StatusOr<int> count_exports(const std::string& object, const Manifest& manifest, const std::string& family);

// For every prefix the family's blobs export, `object` has as many undefined symbols as blobs export it, or none when
// it calls all those blobs by another export; and it has no other undefined fmha_…<…>. Their number.
absl::StatusOr<int> verify_exports(const std::string& object, const std::string& dispatcher, const Manifest& manifest,
                                   const std::string& family);

}  // namespace hearth::blobs
