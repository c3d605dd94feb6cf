// Dispatchers and blobs in miniature, written by hand after the forms that ComposableKernel's generators write.
#pragma once
#include <string>
#include <vector>

#include "blobs/tools/dispatcher_rewriter.h"

namespace hearth::blobs::test {

// fwd, 2024: trait_0, no architecture.
RewriteInput fwd_2024();
// fwd, 2026: "trait", an architecture, and a second function that uses the same aliases.
RewriteInput fwd_2026();
// splitkv: two aliases a site, two exports a blob, the helper in the dispatcher.
RewriteInput splitkv_2024();
RewriteInput splitkv_2026();
RewriteInput appendkv_2024();
RewriteInput appendkv_2026();
// bwd: three aliases a site. 2026: the helper is in a header, a launcher calls it, convert_dq is optional.
RewriteInput bwd_2024();
RewriteInput bwd_2026();

// `input` with `from` replaced by `to` in the dispatcher (the first occurrence, which must exist) or in a blob.
RewriteInput with(RewriteInput input, const std::string& from, const std::string& to);
RewriteInput with_blob(RewriteInput input, const std::string& stem, const std::string& from, const std::string& to);

}  // namespace hearth::blobs::test
