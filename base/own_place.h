// Where the running program and a library that is loaded into it lie, for what is looked for beside them. Never told by
// argv[0], which is the caller's to choose, and never relative to the current folder, which may be anybody's. Nothing but
// libc: the blob loader has it, too. Thread-safe; no errors: empty where the system does not say.
#pragma once
#include <string>

namespace hearth::runtime {

// The file of the running program, links followed. Of a program that was deleted or replaced: where it was, behind it
// " (deleted)"; its folder is still right.
std::string program_file();

// The file of the library that `address`, of code or data, belongs to: as the dynamic linker names it (links are not
// followed) where that name is absolute, else as the kernel does. Where it belongs to the program, program_file().
std::string library_file(const void* address);

}  // namespace hearth::runtime
