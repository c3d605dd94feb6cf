// A GPU's plans on this processor: kernels that were compiled for a GPU's record with this processor's triple
// (hearth_simt_fn of base/kernel_abi.h) are called once for each of a number of invocations, in an order that must not
// matter. A device of the runtime; its memory is the host's. Thread-safe.
//
//   request.device = &simt_device();
//   v1::Target target = simt_device().target(0);
#pragma once
#include "runtime/hal/device.h"

namespace hearth::conformance {

const runtime::Device& simt_device();

}  // namespace hearth::conformance
