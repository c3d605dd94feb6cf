// What a hijacked worker tries: one function an attempt, by name. Each does what it says as directly as the kernel lets
// it and tells how that went; whether harm was done is judged from outside (victim.h).
//
//   const Attempt attempt = find_attempt("truncate");
//   std::string went = attempt(targets);   // "done", "done: what was read", or "denied: Operation not permitted"
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fault/sandbox/targets.h"

namespace hearth::sandbox_test {

using Attempt = std::string (*)(const Targets&);
using AttemptTable = std::vector<std::pair<std::string_view, Attempt>>;

// Null when there is no such attempt.
Attempt find_attempt(std::string_view name);

// The parts of the table.
const AttemptTable& attempts_on_files();
const AttemptTable& attempts_on_processes();
const AttemptTable& attempts_on_network();
const AttemptTable& attempts_on_kernel();
const AttemptTable& attempts_on_limits();

// "done", or "denied: why" after a call that failed with errno.
std::string told(bool done);
std::string told(bool done, const std::string& what);

}  // namespace hearth::sandbox_test
