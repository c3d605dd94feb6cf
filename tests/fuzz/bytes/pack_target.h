// Packs that were changed: of one that is read, nothing is kept that no trusted key has signed.
#pragma once
#include "tests/fuzz/bytes/target.h"

namespace hearth::fuzz {

Target pack();

}  // namespace hearth::fuzz
