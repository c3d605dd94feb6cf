// What a CPU of the record's triple, vector width and features can do; nothing of this host.
#pragma once
#include "compiler/target/target.h"

namespace hearth::target {

Capabilities cpu_capabilities(const v1::Target& record);

// Whether the processor sums pairs of bf16 products (vdpbf16ps) faster than it widens them and multiplies in f32.
bool has_fast_bf16_dot(const v1::Target& record);

}  // namespace hearth::target
