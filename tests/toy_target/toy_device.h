// A toy device for the runtime: runs the text of linear kernels (toy_compiler.h) in the reference interpreter, in memory
// of the host. A driver and its one device, made as CONTRIBUTING.md says.
#pragma once

namespace hearth::toy {

// Before the first look for device "toy". Once or often.
void register_devices();

}  // namespace hearth::toy
