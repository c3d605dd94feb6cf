// The targets of a cache beyond the node: what a server answers to a look-up, and statements of results.
#pragma once
#include "tests/fuzz/bytes/target.h"

namespace hearth::fuzz {

Target remote_reply();
Target remote_statement();

}  // namespace hearth::fuzz
