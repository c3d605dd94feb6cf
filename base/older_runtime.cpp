// What GCC 12's libstdc++ and glibc 2.36 have under newer versions than the systems that a wheel is for: with these
// definitions, which nothing outside of a program or library sees, it runs with GLIBCXX_3.4.29 and glibc 2.34
// (manylinux_2_34: RHEL 9, Ubuntu 22.04, Amazon Linux 2023).
#include <sys/random.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#pragma GCC visibility push(hidden)

// GLIBCXX_3.4.30; the same as 3.4.11 of it, but for the name.
void std::condition_variable::wait(std::unique_lock<std::mutex>& lock) { _M_cond.wait(*lock.mutex()); }

// GLIBC_2.36; LLVM asks for one in a temporary file's name.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}

#pragma GCC visibility pop
