// The manifest as C++ that is compiled into the library: the hearth::blob::Library of
// blobs/loader/hearth_blob.h. Pure functions; equal manifests give equal text. Errors: none.
//
//   EmbeddedManifest text = embedded_manifest(manifest, {.default_root = "", .default_name = "ck_jit"});
//   write_file(folder + "/ck_jit_manifest_embedded.h", {text.header});
#pragma once
#include <string>

#include "blobs/library/manifest.h"

namespace hearth::blobs {

// The name of the Library object, at global scope; rewritten dispatchers refer to it.
inline constexpr char kLibraryObject[] = "hearth_blob_library";

struct EmbeddedDefaults {
  std::string root;  // CK_JIT_ROOT baked in; empty: ck_jit beside the library
  std::string name;  // CK_JIT_NAME baked in
};

struct EmbeddedManifest {
  std::string header;  // ck_jit_manifest_embedded.h: the arrays
  std::string source;  // ck_jit_manifest_embedded.cpp: the Library, defined
};

EmbeddedManifest embedded_manifest(const Manifest& manifest, const EmbeddedDefaults& defaults);

// `text` as a C++ string literal, with its quotes.
std::string cpp_literal(const std::string& text);

// blobs/loader/hearth_blob.h, as this program was built with it.
extern const char kLoaderHeader[];

}  // namespace hearth::blobs
