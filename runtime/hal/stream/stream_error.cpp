#include "runtime/hal/stream/stream_error.h"

#include "runtime/hal/gpu/device_state.h"

namespace hearth::runtime {

bool is_lost(int error) {
  switch (error) {
    case 4:    // deinitialized
    case 214:  // an uncorrectable memory error
    case 220:  // of NVLink
    case 226:  // contained
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // the context is destroyed
    case 710:  // assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
      return true;
    default:
      return false;
  }
}

absl::StatusCode code_of_stream_error(int error) {
  if (is_lost(error)) return absl::StatusCode::kUnavailable;
  switch (error) {
    case 0:
      return absl::StatusCode::kOk;
    case kOutOfMemory:
    case 701:   // launch out of resources
    case 1052:  // HIP: a call of the layer below had no memory
      return absl::StatusCode::kResourceExhausted;
    case 3:    // not initialized
    case 34:   // a stub library
    case 35:   // insufficient driver
    case 46:   // device unavailable
    case 100:  // no device
    case 101:  // invalid device
    case 102:  // not licensed
    case 200:  // invalid image
    case 209:  // no binary for this GPU
    case 218:  // invalid PTX
    case 221:  // the compiler of PTX is not found
    case kUnsupportedPtx:
    case 223:  // compiling is disabled
    case 300:  // invalid source
    case 800:  // not permitted
    case 801:  // not supported
    case 802:  // the system is not ready
    case 803:  // the driver does not match
    case 804:  // no forward compatibility
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string_view remedy_of(int error) {
  switch (error) {
    case 3:
    case 100:
      return "; is there a GPU, and is its kernel module loaded?";
    case 34:
      return "; this is the library of a toolkit for linking: install the GPU's driver";
    case 46:
      return "; another process has it alone (compute mode), or it is being set up";
    case kOutOfMemory:
      return "; release instances and plans, or set a smaller HEARTH_DEVICE_CACHE_BYTES";
    case 209:
      return "; prepare the plan for this GPU";
    case kUnsupportedPtx:
    case 35:
    case 803:
      return "; update the GPU's driver";
    case 700:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
      return "; start the process anew; with HEARTH_DEVICE_CHECKS=1 each launch is run alone, and the error names it";
    default:
      return is_lost(error) ? std::string_view(kLostRemedy) : std::string_view();
  }
}

}  // namespace hearth::runtime
