// The bug that is switched on in the copies of sources that plant_bugs.py makes: its number, from 1; 0: none.
#pragma once

namespace hearth::test {

inline int planted_bug = 0;

}  // namespace hearth::test
