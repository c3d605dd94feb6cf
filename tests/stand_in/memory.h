// Blocks of the device's memory that are mapped by somebody else than memory.cpp. Used under lock().
#pragma once
#include <cstddef>

namespace hearth::stand_in {

// `protection` as mprotect() has it, for kernels and copies.
void add_mapped(void* address, std::size_t size_bytes, int device, int protection);
// Where there is none, nothing.
void remove_mapped(void* address);

}  // namespace hearth::stand_in
