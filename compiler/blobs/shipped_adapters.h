// The adapters of compiler/blobs/adapters/, as this program was built with them: they travel inside, so that an
// installation made from anywhere has those of its release. Constant; thread-safe. Errors: none.
//
//   for (const ShippedAdapter& adapter : shipped_adapters())
//     if (parse_adapter(adapter.text, adapter.name)->toolchain() == manifest.toolchain) …
#pragma once
#include <span>

namespace hearth::blobs {

struct ShippedAdapter {
  const char* name;  // of its file: fmha_fwd_host.toml
  const char* text;
};

std::span<const ShippedAdapter> shipped_adapters();

}  // namespace hearth::blobs
