// A toy target for the compiler: a scalar machine whose code is the text of a kernel's linear form. A target kind, a
// scheduler and a generator, made as CONTRIBUTING.md says.
#pragma once

namespace hearth::toy {

// Before the first graph is compiled for device "toy". Once or often.
void register_compiler();

}  // namespace hearth::toy
