// The adapters of blobs/tools/adapters/ and the programs of drop_in/, as this program was built with them: they
// travel inside, so that an installation made from anywhere has those of its release. Constant; thread-safe. Errors:
// none.
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

// A program of the tools that hearth stands in for, by its name and arguments there.
struct ShippedProgram {
  const char* name;  // of its file: ck_jit_prebuild.py
  const char* text;
};

std::span<const ShippedAdapter> shipped_adapters();
std::span<const ShippedProgram> shipped_programs();

}  // namespace hearth::blobs
