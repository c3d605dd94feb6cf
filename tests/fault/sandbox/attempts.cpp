#include "tests/fault/sandbox/attempts.h"

#include <cerrno>
#include <cstring>

namespace hearth::sandbox_test {

Attempt find_attempt(std::string_view name) {
  for (const AttemptTable* table : {&attempts_on_files(), &attempts_on_processes(), &attempts_on_network(),
                                    &attempts_on_kernel(), &attempts_on_limits()}) {
    for (const auto& [known, attempt] : *table) {
      if (known == name) return attempt;
    }
  }
  return nullptr;
}

std::string told(bool done) { return done ? "done" : std::string("denied: ") + std::strerror(errno); }

std::string told(bool done, const std::string& what) { return done ? "done: " + what : told(false); }

}  // namespace hearth::sandbox_test
