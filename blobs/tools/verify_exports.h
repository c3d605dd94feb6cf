// The independent check of a rewrite, symbol by symbol: what an unmodified dispatcher's object leaves undefined is
// exactly what the blobs define that the rewriter found for it.
//
// The object is that of RewrittenDispatcher::names_source, whose table says what each blob's functions are called.
// Blobs that no dispatcher calls are no fault: CK generates some. Thread-safe. Errors: those of elf_symbols.h;
// FailedPrecondition naming dispatcher, function and blob sources, with the remedy.
//
//   absl::StatusOr<int> symbols = verify_exports("fmha_fwd_api_names.o", source, rewritten);
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <string>

#include "blobs/tools/dispatcher_rewriter.h"

namespace hearth::blobs {

// Calls of blobs' functions that an object still makes by their symbols; none after a rewrite.
absl::StatusOr<int> count_blob_calls(const std::string& object, const RewrittenDispatcher& rewritten);

// How many symbols of blobs the dispatcher needs. `source_of` gives a blob's source file by its stem, for messages.
absl::StatusOr<int> verify_exports(const std::string& object, const std::string& dispatcher,
                                   const RewrittenDispatcher& rewritten,
                                   const std::function<std::string(const std::string&)>& source_of);

}  // namespace hearth::blobs
