// The target of plan files (docs/plan_file.md): their bytes, and their manifest and plan with every digest made right
// again. Machine code stays as it is: whoever loads a plan file trusts that.
#pragma once
#include "tests/fuzz/bytes/target.h"

namespace hearth::fuzz {

Target plan_file();

}  // namespace hearth::fuzz
