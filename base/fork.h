// What a fork() leaves behind: the child has copies of this library's objects, but none of the threads that serve them
// and, until it says otherwise, the parent's connections. Objects that have threads or connections note the generation
// that made them and are no good in a later one. Thread-safe; fork_generation() is one load.
//
//   if (generation_ != fork_generation()) restart();   // made by a process that this one was forked from
#pragma once
#include <cstdint>

namespace hearth::runtime {

// How many forks lie between the process that loaded this library and this one. What vfork(), posix_spawn() or a bare
// clone() make is not counted.
std::uint32_t fork_generation();

// `fd` is closed in every child from now on, so that nobody but this process keeps a connection open or reads from it.
void close_on_fork(int fd);
// Before the descriptor is closed.
void forget_close_on_fork(int fd);

}  // namespace hearth::runtime
