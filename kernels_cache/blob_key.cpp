#include "kernels_cache/blob_key.h"

#include "absl/strings/str_cat.h"
#include "hearth/v1/blob.pb.h"
#include "kernels_cache/canonical_bytes.h"

namespace hearth::cache {
namespace {

// Another version of the worker's part (flags it adds, how it links) takes another domain.
constexpr char kRequestDomain[] = "hearth.blob_request.v1";
constexpr char kBlobDomain[] = "hearth.blob.v1";
constexpr char kStemPart[] = "blob.stem";

template <class Strings>
std::string list_bytes(const Strings& strings) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(strings.size()));
  for (const std::string& text : strings) out.bytes(text);
  return out.take();
}

}  // namespace

KeyMaterial blob_request_material(const v1::BlobSpec& spec, std::string_view compiler_digest,
                                  const Digest& source_digest) {
  KeyMaterial material(kRequestDomain);
  material.add(kStemPart, spec.stem(), spec.stem());
  material.add("blob.toolchain", spec.toolchain(), spec.toolchain());
  material.add("blob.compiler", std::string(compiler_digest), std::string(compiler_digest.substr(0, 16)));
  material.add("blob.source", spec.source(), spec.source());
  material.add("blob.source_digest", to_bytes(source_digest), to_hex(source_digest).substr(0, 16));
  material.add("blob.flags", list_bytes(spec.flags()), absl::StrCat(spec.flags_size(), " flags"));
  material.add("blob.archs", list_bytes(spec.archs()), absl::StrCat(spec.archs_size(), " archs"));
  material.add("blob.exports", list_bytes(spec.exports()), absl::StrCat(spec.exports_size(), " exports"));
  material.add("blob.glue", spec.glue(), absl::StrCat(spec.glue().size(), " bytes"));
  return material;
}

KeyMaterial blob_material(const KeyMaterial& request, const v1::BlobRecord& record) {
  KeyMaterial material(kBlobDomain);
  for (const KeyPart& part : request.parts()) material.add(part.name, part.bytes, part.detail);
  Writer files;
  files.u64(static_cast<std::uint64_t>(record.files_size()));
  for (const v1::BlobFile& file : record.files()) files.bytes(file.path()).bytes(file.sha256());
  // Hundreds of headers: their digest is as good and every index row stays small.
  material.add("blob.files", to_bytes(sha256(files.take())), absl::StrCat(record.files_size(), " files"));
  return material;
}

std::string blob_stem(const KeyMaterial& material) {
  if (material.domain() != kRequestDomain && material.domain() != kBlobDomain) return {};
  if (material.parts().empty() || material.parts()[0].name != kStemPart) return {};
  return material.parts()[0].bytes;
}

}  // namespace hearth::cache
