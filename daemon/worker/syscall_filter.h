// The system calls that a worker may make: a list of what is allowed (seccomp), one for the compiler worker, which
// starts no programs and changes no other process, and a wider one for workers that start compilers.
//
// A call that is not on the list does not exist (ENOSYS), as on an older kernel, which programs are written to survive.
// What a compiler may ask for without harm is refused (EPERM), or answered with success without doing it where a
// toolchain insists on it (changing the mode of its output). What only an attack does ends the process (SIGSYS), so
// that it shows. Irrevocable; call it last, before any thread. Example:
//   if (std::string why = filter_system_calls({.programs = false}); !why.empty()) report(why);
#pragma once
#include <string>

namespace hearth::daemon {

struct SyscallFilter {
  bool programs = false;
};

// Why there is no filter; empty: there is.
std::string filter_system_calls(const SyscallFilter& filter);

}  // namespace hearth::daemon
