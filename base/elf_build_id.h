// elf_build_id: the identity that a linker gave a program or library, the note NT_GNU_BUILD_ID (System V gABI, "Note
// Section"; GNU ld's --build-id): equal for equal links, and found without reading the file. Thread-safe.
//
//   std::string id = elf_build_id("/usr/lib/x86_64-linux-gnu/libc.so.6");   // raw bytes; empty: it has none
#pragma once
#include <string>

namespace hearth {

// Empty also for what is no ELF file of 64 bits in this machine's byte order, and for a file that cannot be read.
std::string elf_build_id(const std::string& path);

}  // namespace hearth
