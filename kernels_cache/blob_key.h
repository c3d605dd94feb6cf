// Keys of kernel blobs, in two levels.
//
// What a caller can know makes the request key: stem, kind and digest of the compiler, flags, archs, exports, glue and
// the source's digest. Under it the cache keeps records of which other files compiles depended on. The request's parts
// with the digests of those files are the key of the compiled blob. The root's path is in neither: paths below it begin
// with "{root}", so a moved installation finds its blobs. Pure functions; thread-safe. Example:
//   KeyMaterial request = blob_request_material(spec, toolchain.digest(), sha256(source_bytes));
//   KeyMaterial blob = blob_material(request, record);
#pragma once
#include <string>

#include "kernels_cache/action_key.h"

namespace hearth::v1 {
class BlobRecord;
class BlobSpec;
}  // namespace hearth::v1

namespace hearth::cache {

KeyMaterial blob_request_material(const v1::BlobSpec& spec, std::string_view compiler_digest,
                                  const Digest& source_digest);
// `record.files` must be sorted by path.
KeyMaterial blob_material(const KeyMaterial& request, const v1::BlobRecord& record);

// The stem in a material of either level; empty when it is another kind's.
std::string blob_stem(const KeyMaterial& material);

}  // namespace hearth::cache
