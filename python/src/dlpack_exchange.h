// DLPack's C functions (version 1.3) of torch, where it has them: what takes microseconds by __dlpack__ takes a tenth of
// one. With the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include "hearth/dlpack.h"

namespace hearth::python {

namespace nb = nanobind;

// The same as DLPack's table of that name, up to the functions that are used here.
struct DLPackExchangeFunctions {
  struct Header {
    DLPackVersion version;
    Header* previous;
  } header;
  using SetError = void (*)(void* context, const char* kind, const char* message);
  int (*allocate)(DLTensor* like, DLManagedTensorVersioned** made, void* context, SetError set_error);
  int (*from_object)(void* object, DLManagedTensorVersioned** made);
  int (*to_object)(DLManagedTensorVersioned* tensor, void** object);
  int (*view_object)(void* object, DLTensor* view);  // may be null
  int (*current_stream)(DLDeviceType type, std::int32_t device, void** stream);
};

// The table of an array type; null where it has none, or one of another major version.
const DLPackExchangeFunctions* exchange_functions(nb::handle type);

}  // namespace hearth::python
