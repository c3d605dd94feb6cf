// The bug that is switched on in the copy of the compiler's import that plant_bugs.py makes: its number, from 1; 0:
// none.
#pragma once

namespace hearth::conformance {

inline int planted_bug = 0;

}  // namespace hearth::conformance
